/** The server view: which historical serves which segments, kept up to date by following each historical. */
export { createServerView, type ServerView } from './server-view.ts'
