import { type HomeLayout, homeLayout } from '@svc/cli/home'

/** The mount points of the volumes in docker-compose.yml; each container mounts those that it needs. */
export const containerHome: HomeLayout = homeLayout('/var/lib/svc')
