/** Access: users, roles, and group mappings, what each may do and why, and who changed it. */
export { AccessScreen } from './access-screen.tsx'
