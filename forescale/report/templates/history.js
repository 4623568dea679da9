"use strict";
(() => {
  const figures = drawing.figures();
  const narrow = window.matchMedia("(max-width: 640px)");
  const config = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };
  const divs = figures.map((_, index) => document.getElementById(`figure-${index}`));
  const whole = figures.map((figure) => [...figure.layout.xaxis.range]);

  // A height that is set ends autosize, and the width would stay what it was.
  const fit = () => figures.forEach((figure, index) => {
    const look = structuredClone(narrow.matches ? figure.narrow : figure.wide);
    Plotly.relayout(divs[index], { ...look, width: null, autosize: true });
  });

  // All figures show the same stretch of time; what is set here is not to be answered again.
  let following = false;
  const show = (rangeOf) => {
    following = true;
    Promise.all(divs.map((div, index) => Plotly.relayout(div, { "xaxis.range": [...rangeOf(index)] })))
      .finally(() => { following = false; });
  };

  figures.forEach((figure, index) => {
    const div = divs[index];
    div.replaceChildren();
    Plotly.newPlot(div, figure.data, figure.layout, config);
    div.on("plotly_relayout", (change) => {
      if (!following && "xaxis.range[0]" in change) {
        show(() => [change["xaxis.range[0]"], change["xaxis.range[1]"]]);
      }
    });
    div.on("plotly_doubleclick", () => show((at) => whole[at]));
  });
  fit();
  narrow.addEventListener("change", fit);

  // Paper is narrower than most windows.
  window.addEventListener("beforeprint", () => divs.forEach((div) => Plotly.relayout(div, { width: 680 })));
  window.addEventListener("afterprint", () => divs.forEach((div) => Plotly.relayout(div, { width: null, autosize: true })));
})();
