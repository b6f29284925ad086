"use strict";

// Sizes answer to the pointer and to the keyboard: one stop for Tab, then the arrow keys.
for (const figure of document.querySelectorAll("figure.scores")) {
  const readout = figure.querySelector(".readout");
  for (const drawing of figure.querySelectorAll("svg")) {
    const points = [...drawing.querySelectorAll(".point")];
    const show = (place) => {
      for (const point of points) {
        const active = point === points[place];
        point.classList.toggle("active", active);
        point.setAttribute("tabindex", active ? "0" : "-1");
      }
      readout.textContent = points[place].getAttribute("aria-label");
    };
    const moves = (place) => ({
      ArrowRight: place + 1, ArrowUp: place + 1, ArrowLeft: place - 1, ArrowDown: place - 1,
      Home: 0, End: points.length - 1,
    });
    points.forEach((point, place) => {
      point.querySelector("title").remove(); // the line below says it sooner
      point.addEventListener("pointerenter", () => show(place));
      point.addEventListener("pointerdown", () => show(place));
      point.addEventListener("focus", () => show(place));
      point.addEventListener("keydown", (event) => {
        const next = moves(place)[event.key];
        if (next === undefined) return;
        event.preventDefault();
        points[next]?.focus();
      });
    });
    show(Math.max(points.findIndex((point) => point.classList.contains("shown")), 0));
  }
}

for (const button of document.querySelectorAll("button[data-copies]")) {
  const field = document.getElementById(button.dataset.copies);
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    let copied = false;
    try {
      await navigator.clipboard.writeText(field.value);
      copied = true;
    } catch {
      field.closest("details").open = true; // what is not shown cannot be selected
      field.select();
      copied = document.execCommand("copy");
    }
    button.textContent = copied ? "Copied" : "Selected: copy by hand";
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

// A table that goes on to the side says so; narrow screens hide the bar that would.
const told = new Map();
const tell = () => {
  for (const box of document.querySelectorAll(".scrolling")) {
    const wide = box.scrollWidth > box.clientWidth + 1;
    if (wide && !told.has(box)) {
      const note = document.createElement("p");
      note.className = "more-to-see";
      note.textContent = "This goes on to the right: swipe or scroll \u2192";
      box.before(note);
      told.set(box, note);
    }
    if (told.has(box)) told.get(box).hidden = !wide;
  }
};
tell();
addEventListener("resize", tell);

// What is folded away on a screen is printed.
const folded = [...document.querySelectorAll("details.more")];
let opened = [];
addEventListener("beforeprint", () => {
  opened = folded.filter((part) => !part.open);
  for (const part of opened) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of opened) part.open = false;
});
