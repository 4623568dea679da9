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

// Airflow's frame is sandboxed: a link in it may not open another page of Airflow, one in Airflow's own document may.
for (const link of document.querySelectorAll('a[target="_top"]')) {
  link.addEventListener("click", (event) => {
    if (parent === window) return;
    event.preventDefault();
    const outside = parent.document.createElement("a");
    outside.href = link.href;
    parent.document.body.append(outside);
    outside.click();
    outside.remove();
  });
}
