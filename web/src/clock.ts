/** The server's clock: what still runs is timed by it, whatever the clock of this machine says. */

/** An HTTP date has whole seconds, and an answer takes a while: less than this is no difference. */
const WITHIN_SECONDS = 2

let ahead = 0

/** Learn from an answer how far the server's clock is ahead of this one. */
export function setByAnswer(date: string | null, now: number = Date.now()): void {
  const seconds = date === null ? NaN : (Date.parse(date) - now) / 1000
  if (!Number.isNaN(seconds)) ahead = Math.abs(seconds) > WITHIN_SECONDS ? seconds : 0
}

/** Seconds since the epoch, by the server. */
export function serverNow(now: number = Date.now()): number {
  return now / 1000 + ahead
}
