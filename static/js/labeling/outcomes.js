// Above a question: what the owner answered to the category that the rater proposed there, and one button to take it.

/** Shows the answer for the part at hand (from 0); `take(key)` chooses the category that it was mapped to. */
export function showOutcome(question, outcomes, at) {
  const place = question.element.querySelector(".outcome");
  if (!place) return;
  const told = outcomes.find(({ part, dimension }) => part === at + 1 && dimension === question.dimension.key);
  place.hidden = !told;
  if (!told) return;
  place.querySelector("p").textContent = `${told.words}${/[.!?]$/.test(told.words) ? "" : "."}`;
  const button = place.querySelector("[data-take]");
  const chosen = Array.isArray(question.value) ? question.value : [];
  button.hidden = !told.take || (chosen.includes(told.take) && !question.asked);
  button.textContent = `Take ${told.take_name}`;
  button.onclick = () => {
    question.take(told.take);
    button.hidden = true;
    question.focus();
  };
}
