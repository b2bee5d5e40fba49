import type { Page } from 'playwright-core'

// Code for the page is text, because tests have no types of browsers.
/** Code that observes a page: its long tasks, and when its timeline is repainted. Run it before the code of the page. */
export const observe = `(() => {
  const tasks = []
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) tasks.push({ startTime, duration })
  }).observe({ type: 'longtask', buffered: true })
  let lastChange = 0
  const note = () => requestAnimationFrame(() => { lastChange = performance.now() })
  new MutationObserver((records) => {
    if (records.some(({ target }) => target.parentElement?.closest('section[aria-label=Timeline]'))) note()
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
  const until = async (isDone) => { while (!isDone()) await new Promise(requestAnimationFrame) }
  window.measured = {
    tasksSince: (start) => tasks.filter((task) => task.startTime >= start).map(({ duration }) => duration),
    /** Logs in, and returns the time until the timeline is painted. */
    open: async () => {
      const start = performance.now()
      document.querySelector('dialog button[type=submit], [role=dialog] button[type=submit]').click()
      await until(() => document.querySelector('section[aria-label=Timeline] svg'))
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
      return performance.now() - start
    },
    /** Clicks on an element, and returns the time until the page matches a selector and that is painted. */
    click: async (element, selector) => {
      const start = performance.now()
      element.click()
      await new Promise(requestAnimationFrame)
      await until(() => document.querySelector(selector))
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
      return performance.now() - start
    },
    /** Changes the period of the selected rule, and returns the time until the timeline was last repainted. */
    edit: async (value) => {
      const label = [...document.querySelectorAll('label')].find((one) => one.textContent.startsWith('Period'))
      const field = label.control
      const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set
      const start = performance.now()
      lastChange = 0
      set.call(field, value)
      field.dispatchEvent(new Event('input', { bubbles: true }))
      await new Promise((done) => setTimeout(done, 1000))
      await until(() => lastChange > 0)
      return lastChange - start
    },
  }
})()`

/** Returns the time of a page, in milliseconds. */
export const nowIn = (page: Page): Promise<number> => page.evaluate('performance.now()')
/** Returns how long the longest main-thread task since a time was, in milliseconds; 0 if all were below 50 ms. */
export const maxTaskSince = async (page: Page, start: number): Promise<number> =>
  Math.round(Math.max(0, ...((await page.evaluate(`measured.tasksSince(${start})`)) as number[])))
