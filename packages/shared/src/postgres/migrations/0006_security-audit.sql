-- Up Migration

-- Security events of all types are read together, newest first.
CREATE INDEX audit_of_security ON audit (id) WHERE type LIKE 'security%';

-- Changing users and roles requires its own permission. Existing administrators get this permission.
UPDATE authorization_roles SET permissions = (permissions::jsonb || '[
  {"resource": {"type": "CONFIG", "name": "security"}, "action": "READ"},
  {"resource": {"type": "CONFIG", "name": "security"}, "action": "WRITE"}]'::jsonb)::json
WHERE name = 'admin'
  AND permissions::jsonb @> '[{"resource": {"type": "CONFIG", "name": ".*"}, "action": "WRITE"}]'::jsonb
  AND NOT permissions::jsonb @> '[{"resource": {"type": "CONFIG", "name": "security"}, "action": "WRITE"}]'::jsonb;
