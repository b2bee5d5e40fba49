/** Edits that outlive the screens that show them, as long as the tab is open. */
export { clearDrafts, Drafts, unsavedEdits, useDraft } from './drafts.ts'
export { UnsavedEdits } from './unsaved-edits.tsx'
