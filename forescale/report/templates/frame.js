"use strict";
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
