import { parseLogEntry } from '@svc/domain/log-entries'
import { memo, useMemo, useState } from 'react'
import { visible } from '../ui/index.ts'

/** A task log: time, level, and message of each entry, or the text of the file. */
export function TaskLog({ text }: { readonly text: string }) {
  const [isRaw, setIsRaw] = useState(false)
  const lines = useMemo(() => text.split('\n').filter((line) => line.trim() !== ''), [text])
  if (lines.length === 0) return <p className="dim">The log is empty.</p>
  return (
    <>
      <label className="check small">
        <input type="checkbox" checked={isRaw} onChange={() => setIsRaw(!isRaw)} />
        Show the raw log
      </label>
      {isRaw ? (
        <pre className="log" tabIndex={0}>
          {text}
        </pre>
      ) : (
        <ol className="log log-lines" tabIndex={0} aria-label="Log">
          {lines.map((line, index) => (
            <LogLine key={index} line={line} />
          ))}
        </ol>
      )}
    </>
  )
}

/** An entry of the log. A line that is something else stays as it is. */
const LogLine = memo(function LogLine({ line }: { readonly line: string }) {
  const entry = parseLogEntry(line)
  if (entry === undefined) return <li>{visible(line)}</li>
  const { timestamp, level, message } = entry
  const details = Object.entries(entry.details)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
  return (
    <li>
      <time dateTime={timestamp} title={timestamp}>
        {timestamp.slice(11, 19)}
      </time>{' '}
      {level !== 'info' && <b className="future-text">{level}</b>} {visible(message)}{' '}
      {details !== '' && <span className="dim">{visible(details)}</span>}
    </li>
  )
})
