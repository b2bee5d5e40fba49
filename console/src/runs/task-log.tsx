import { useMemo, useState } from 'react'
import { visible } from '../ui/index.ts'
import { logLines } from './log-lines.ts'

/** A task log: time, level, and message of each entry, or the text of the file. */
export function TaskLog({ text }: { readonly text: string }) {
  const [isRaw, setIsRaw] = useState(false)
  const lines = useMemo(() => logLines(text), [text])
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
          {lines.map(({ time, level, message, details }, index) => (
            <li key={index}>
              {time !== undefined && (
                <time dateTime={time} title={time}>
                  {time.slice(11, 19)}
                </time>
              )}{' '}
              {level !== undefined && level !== 'info' && <b className="future-text">{level}</b>}{' '}
              {visible(message)} {details !== undefined && <span className="dim">{visible(details)}</span>}
            </li>
          ))}
        </ol>
      )}
    </>
  )
}
