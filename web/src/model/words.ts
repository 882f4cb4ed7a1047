/** Numbers, durations and sizes as text. */

export function counted(count: number, noun: string): string {
  return `${figure(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** 1234567 → "1,234,567". */
export function figure(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',')
}

/** A parallelism of null is decided at run time. */
export function parallelismWords(parallelism: number | null): string {
  return parallelism === null ? 'decided at run time' : figure(parallelism)
}

export function rowsWords(rows: number | null | undefined): string {
  return rows === null || rows === undefined ? '–' : figure(rows)
}

export function bytesWords(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return '–'
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit] ?? 'B'}`
}

/** The clocks of a server, a worker and a browser differ, so a difference of their times may be negative. */
export function spanSeconds(start: number, end: number): number {
  return Math.max(0, end - start)
}

export function secondsWords(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–'
  if (seconds < 10 && !Number.isInteger(seconds)) return `${seconds.toFixed(1)} s`
  if (seconds < 60) return `${Math.round(seconds)} s`
  const whole = Math.round(seconds)
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60]
  if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`
  return rest ? `${minutes} min ${rest} s` : `${minutes} min`
}

export function timeWords(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–'
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ') + ' UTC'
}
