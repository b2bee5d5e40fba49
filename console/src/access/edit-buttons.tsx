/** Applies or discards an edit. */
export const EditButtons = ({
  isDisabled,
  onDiscard,
}: {
  /** Whether the edit cannot be applied now. */
  readonly isDisabled: boolean
  onDiscard(): void
}) => (
  <div className="row">
    <button type="submit" className="primary" disabled={isDisabled}>
      Apply
    </button>
    <button type="button" onClick={onDiscard}>
      Discard
    </button>
  </div>
)
