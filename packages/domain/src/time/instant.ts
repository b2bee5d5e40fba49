import { DateTime } from 'luxon'
import { refuse } from '../validation/index.ts'
import { calendarFromDays, dayMs, daysFromCalendar, daysOfMonth } from './calendar.ts'

// The ends of eternity as Druid 37 formats them: half the range of 64-bit milliseconds, far outside the range of
// instants here.
const eternityStartText = '-146136543-09-08T08:23:32.096Z'
const eternityEndText = '146140482-04-24T15:36:27.903Z'

/** Latest representable instant, in milliseconds since the epoch: 100,000,000 days, as in ECMAScript. */
export const maxInstantMs = 8.64e15

const writtenForm = /^(-?\d{4,6})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z$/
// Forms that people write. Without this fast path, reading ten thousand intervals takes 0.1 s.
const shortForm = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{3}))?)?Z?)?$/
// Rejects input that Luxon would interpret relative to its clock (times without a date), time zone names, and the hour 24, which
// Druid 37 rejects in any form.
const dated = /^(?:[+-]\d{6}|\d{4})[\dW-]*(?:T(?!24)[\dZ:.,+-]+)?$/
const maxInstantLength = 64

const pad = (value: number, digits: number): string => String(value).padStart(digits, '0')

/**
 * Formats an instant as ISO 8601 in UTC with milliseconds: `2026-01-01T00:00:00.000Z`. Years after 9999 have more
 * digits and no plus sign. Infinities become the ends of eternity.
 */
export function formatInstant(instantMs: number): string {
  if (instantMs === -Infinity) return eternityStartText
  if (instantMs === Infinity) return eternityEndText
  const days = Math.floor(instantMs / dayMs)
  const ms = instantMs - days * dayMs
  if (ms === 0) return midnightText(days)
  const date = midnightText(days).slice(0, -midnightPart.length)
  const hours = pad(Math.floor(ms / 3_600_000), 2)
  const minutes = pad(Math.floor(ms / 60_000) % 60, 2)
  const seconds = pad(Math.floor(ms / 1000) % 60, 2)
  return `${date}${hours}:${minutes}:${seconds}.${pad(ms % 1000, 3)}Z`
}

function dateText(days: number): string {
  const { year, month, day } = calendarFromDays(days)
  return `${year < 0 ? '-' : ''}${pad(Math.abs(year), 4)}-${pad(month, 2)}-${pad(day, 2)}`
}

const midnightPart = '00:00:00.000Z'
// Segment ids contain the same few days again and again. Without this cache, formatting them took half of the time
// to create a million ids.
const midnightTexts = new Map<number, string>()
const maxCachedMidnights = 20_000

function midnightText(days: number): string {
  let text = midnightTexts.get(days)
  if (text === undefined) {
    if (midnightTexts.size >= maxCachedMidnights) midnightTexts.clear()
    text = `${dateText(days)}T${midnightPart}`
    midnightTexts.set(days, text)
  }
  return text
}

function readWrittenForm(parts: RegExpExecArray): number | undefined {
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const [hour, minute] = [Number(parts[4] ?? 0), Number(parts[5] ?? 0)]
  const [second, ms] = [Number(parts[6] ?? 0), Number(parts[7] ?? 0)]
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const instantMs =
    daysFromCalendar(year, month, day) * dayMs + ((hour * 60 + minute) * 60 + second) * 1000 + ms
  return Math.abs(instantMs) <= maxInstantMs ? instantMs : undefined
}

/** Parses an instant. Returns undefined if the text is not one. */
export function instantOf(text: string): number | undefined {
  if (text === eternityStartText) return -Infinity
  if (text === eternityEndText) return Infinity
  if (text.length > maxInstantLength) return undefined
  const parts = writtenForm.exec(text) ?? shortForm.exec(text)
  if (parts !== null) return readWrittenForm(parts)
  if (!dated.test(text)) return undefined
  const parsed = DateTime.fromISO(text, { zone: 'utc' })
  return parsed.isValid ? parsed.toMillis() : undefined
}

/**
 * Parses an ISO 8601 date or date and time, in UTC if it has no offset. Returns milliseconds since the epoch; the ends
 * of eternity become infinities. Throws invalidInput for `field` if the text is neither.
 */
export function parseInstant(text: string, field = 'time'): number {
  const instantMs = instantOf(text)
  if (instantMs === undefined) {
    throw refuse(field, text, 'an ISO 8601 date or date-time such as [2026-01-01T00:00:00.000Z]')
  }
  return instantMs
}

/** The clock stops at the end of the year 9999, because formats of times have four digits for the year. */
export const lastTime = parseInstant('9999-12-31T23:59:59.999Z')
