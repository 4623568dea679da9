"use strict";
(() => {
  const figures = drawing.figures();
  const narrow = window.matchMedia("(max-width: 640px)");
  const config = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };
  const divs = figures.map((_, index) => document.getElementById(`figure-${index}`));

  const fit = () => figures.forEach((figure, index) => {
    const look = structuredClone(narrow.matches ? figure.narrow : figure.wide);
    Plotly.relayout(divs[index], { ...look, width: null, autosize: true });
  });

  figures.forEach((figure, index) => {
    divs[index].replaceChildren();
    Plotly.newPlot(divs[index], figure.data, figure.layout, config);
  });
  fit();
  narrow.addEventListener("change", fit);

  // Figures that are folded away have no width until they are opened.
  document.querySelectorAll("details").forEach((fold) => fold.addEventListener("toggle", () => {
    fold.querySelectorAll(".plot").forEach((div) => Plotly.Plots.resize(div));
  }));

  // Paper is narrower than most windows, and shows nothing that is folded away.
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    divs.forEach((div) => Plotly.relayout(div, { width: 680 }));
  });
  window.addEventListener("afterprint", () => divs.forEach((div) => Plotly.relayout(div, { width: null, autosize: true })));
})();
