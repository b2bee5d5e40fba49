import { type HomeLayout, homeLayout } from '@svc/cli/home'

/** Where the volumes of docker-compose.yml are mounted; each container has those that it needs. */
export const containerHome: HomeLayout = homeLayout('/var/lib/svc')
