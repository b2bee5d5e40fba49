#!/bin/sh
# Creates the folder secrets for kustomization.yaml: passwords, and a certificate for the servers of each role. Keeps
# existing files. Pass files with the passwords of Postgres and Redis, the CA certificates of both, and the keys of S3:
#
#     make-secrets.sh postgres-password-file redis-password-file postgres-authority.pem redis-authority.pem \
#       s3-access-key-file s3-secret-key-file
#
# To add names to the router's certificate, such as its public name, set SVC_ROUTER_HOSTS=svc.example.com,10.0.0.1
set -eu
[ $# -eq 6 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
folder=$(cd "$(dirname "$0")" && pwd)
svc=$folder/../../svc
secrets=$folder/secrets
pki=$secrets/pki
umask 077
mkdir -p "$pki"
cp "$1" "$secrets/postgres-password"
cp "$2" "$secrets/redis-password"
cp "$3" "$secrets/postgres-authority.pem"
cp "$4" "$secrets/redis-authority.pem"
cp "$5" "$secrets/s3-access-key"
cp "$6" "$secrets/s3-secret-key"
for name in admin-password internal-client-password; do
  [ -s "$secrets/$name" ] || head -c 24 /dev/urandom | base64 | tr -d '\n=' | tr '+/' '-_' >"$secrets/$name"
done
[ -s "$pki/authority.pem" ] || "$svc" pki init --folder "$pki"
for role in router coordinator overlord worker broker historical; do
  hosts="*.${role}s.svc.svc"
  [ $role = router ] && hosts="$hosts,router.svc.svc,router.svc.svc.cluster.local${SVC_ROUTER_HOSTS:+,$SVC_ROUTER_HOSTS}"
  [ -s "$secrets/$role.pem" ] || "$svc" pki issue $role --folder "$pki" --type pem --hosts "$hosts"
  cp "$pki/$role.pem" "$secrets/$role.pem"
done
cp "$pki/authority.pem" "$secrets/authority.pem"
cp "$pki/key-store-password" "$secrets/key-store-password"
