-- Up Migration

CREATE TABLE authorization_group_mappings (
  authorizer text NOT NULL,
  name text COLLATE "C" NOT NULL,
  group_pattern text NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (authorizer, name)
);
CREATE TABLE authorization_group_mapping_roles (
  authorizer text NOT NULL,
  mapping_name text COLLATE "C" NOT NULL,
  role_name text COLLATE "C" NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (authorizer, mapping_name, role_name),
  FOREIGN KEY (authorizer, mapping_name) REFERENCES authorization_group_mappings ON DELETE CASCADE,
  FOREIGN KEY (authorizer, role_name) REFERENCES authorization_roles ON DELETE CASCADE
);
