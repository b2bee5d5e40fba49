import { useState } from 'react'

/** A button that copies a text, which is created when it is clicked. */
export function CopyButton({
  label,
  textOf,
}: {
  readonly label: string
  textOf(): string | Promise<string>
}) {
  const [isCopied, setIsCopied] = useState(false)
  const copy = async () => {
    const text = await textOf()
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      // Browsers protect the clipboard from pages that were loaded without TLS.
      prompt(label, text)
      return
    }
    setIsCopied(true)
    setTimeout(() => setIsCopied(false), 2000)
  }
  return (
    <button type="button" onClick={() => void copy()}>
      {isCopied ? 'Copied' : label}
    </button>
  )
}
