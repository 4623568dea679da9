"use strict";
(() => {
  const box = document.getElementById("filter");
  if (!box) return;
  const rows = [...document.getElementById("series").rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const shown = document.getElementById("shown");

  // Every word must be somewhere in the row.
  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, at) => {
      row.hidden = !words.every((word) => texts[at].includes(word));
      count += row.hidden ? 0 : 1;
    });
    shown.textContent = count.toLocaleString("en");
  };

  box.closest(".filter").hidden = false;
  box.addEventListener("input", filter);
  // A browser may have kept the words of the last visit.
  filter();
})();
