/** The server's clock: durations of running attempts use it instead of the clock of this machine. */

/** An HTTP date has whole seconds, and a response takes time: smaller differences are ignored. */
const WITHIN_SECONDS = 2

let ahead = 0

/** Learn from a response how far the server's clock is ahead of this machine's. */
export function setByAnswer(date: string | null, now: number = Date.now()): void {
  const seconds = date === null ? NaN : (Date.parse(date) - now) / 1000
  if (!Number.isNaN(seconds)) ahead = Math.abs(seconds) > WITHIN_SECONDS ? seconds : 0
}

/** Seconds since the epoch, by the server's clock. */
export function serverNow(now: number = Date.now()): number {
  return now / 1000 + ahead
}
