"use strict";
// What pages with figures share: their data, in colours that are seen on the page's paper.
const drawing = (() => {
  const source = document.getElementById("figures").textContent;
  const onDark = {
    "#3a3a3a": "#d0d0d0", "#1c1c1c": "#e8e8e8", "#444444": "#b4b8bc", "#555555": "#a0a4a8", "#999999": "#777777",
    "#e6e6e6": "#30353a", "#7a7a7a": "#9a9a9a", "#0072b2": "#56b4e9", "#d55e00": "#ff8a3d", "#b0568a": "#e08bbb",
    "#009e73": "#2fd0a0", "rgba(0, 114, 178, 0.22)": "rgba(86, 180, 233, 0.28)", '"white"': '"#22272b"',
  };
  const figures = () => JSON.parse(
    theme.dark ? Object.entries(onDark).reduce((text, [light, other]) => text.replaceAll(light, other), source) : source,
  );
  const key = () => document.querySelectorAll(".swatch").forEach((swatch) => {
    const light = swatch.getAttribute("style").replace(/^color: *|;$/g, "").trim();
    if (theme.dark && onDark[light]) swatch.style.color = onDark[light];
  });
  key();
  return { figures };
})();
