-- Up Migration

-- The audit of security is read newest first whatever its types are.
CREATE INDEX audit_of_security ON audit (id) WHERE type LIKE 'security%';

-- Changing users and roles takes a permission that is meant for it; administrators made before have it from here on.
UPDATE authorization_roles SET permissions = (permissions::jsonb || '[
  {"resource": {"type": "CONFIG", "name": "security"}, "action": "READ"},
  {"resource": {"type": "CONFIG", "name": "security"}, "action": "WRITE"}]'::jsonb)::json
WHERE name = 'admin'
  AND permissions::jsonb @> '[{"resource": {"type": "CONFIG", "name": ".*"}, "action": "WRITE"}]'::jsonb
  AND NOT permissions::jsonb @> '[{"resource": {"type": "CONFIG", "name": "security"}, "action": "WRITE"}]'::jsonb;
