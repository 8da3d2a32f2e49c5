// Makes a page live: when the server reports a change, the page is read anew and the parts that differ are replaced.
"use strict";
(() => {
  const SHORTEST_PAUSE = 1000;
  const live = document.getElementById("live");
  const say = (text) => { if (live.textContent !== text) live.textContent = text; };

  // Times stand in the page as the cluster writes them; people read them in their own zone.
  const localTimes = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const date = new Date(time.dateTime);
      if (isNaN(date)) continue;
      time.title = time.dateTime;
      time.textContent = date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
    }
  };

  // Focus stays where it was: on the element with the same id, or on the same link.
  const replace = (part, fresh) => {
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    const href = focused && focused.getAttribute("href");
    part.replaceChildren(...fresh.childNodes);
    if (!focused) return;
    const same = focused.id ? document.getElementById(focused.id)
      : [...part.querySelectorAll("a")].find((link) => link.getAttribute("href") === href);
    if (same) same.focus({ preventScroll: true });
  };

  const read = async () => {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) {
      say(response.status === 404 ? "This is gone." : "The page could not be read anew: " + response.status);
      return;
    }
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    localTimes(fresh);
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = fresh.getElementById(part.id);
      if (other && other.innerHTML !== part.innerHTML) replace(part, other);
    }
    say("Live");
  };

  let isReading = false, isDue = false;
  const changed = async () => {
    if (isReading) { isDue = true; return; }
    isReading = true;
    try {
      await read();
    } catch {
      say("The console does not answer.");
    }
    setTimeout(() => { isReading = false; if (isDue) { isDue = false; changed(); } }, SHORTEST_PAUSE);
  };

  // Lines of logs are only ever text; the oldest go where there are too many.
  const LINES_AT_MOST = 5000;
  const follow = (log) => {
    const events = new EventSource(log.dataset.log);
    const add = (bad, where, text) => {
      const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
      const line = document.createElement("p");
      if (bad) line.className = "bad";
      if (where) {
        const from = document.createElement("span");
        from.className = "dim";
        from.textContent = where + " ";
        line.append(from);
      }
      line.append(text);
      log.append(line);
      while (log.childElementCount > LINES_AT_MOST) log.firstElementChild.remove();
      if (isAtEnd) log.scrollTop = log.scrollHeight;
    };
    // The stream begins with the last lines, after a broken connection, too.
    events.addEventListener("ready", () => { log.replaceChildren(); say("Live"); });
    events.addEventListener("line", (event) => {
      const { pod, container, text } = JSON.parse(event.data);
      add(false, pod + " " + container, text);
    });
    events.addEventListener("failed", (event) => add(true, "", JSON.parse(event.data).message));
    events.addEventListener("end", () => { events.close(); say("Every log has ended."); });
    events.addEventListener("error", () => say("Not live: the console does not answer."));
  };

  localTimes(document);
  for (const log of document.querySelectorAll("[data-log]")) follow(log);
  const watch = document.body.dataset.watch;
  if (!watch) return;
  let wasOpen = false;
  const events = new EventSource(watch);
  events.addEventListener("ready", () => { say("Live"); if (wasOpen) changed(); wasOpen = true; });
  events.addEventListener("error", () => say("Not live: the console does not answer."));
  for (const name of ["changed", "resync", "failed"]) events.addEventListener(name, changed);
})();
