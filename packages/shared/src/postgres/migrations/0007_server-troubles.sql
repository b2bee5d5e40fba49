-- Up Migration

-- Why servers cannot serve, told by themselves where they reach nobody else; kept while it is told again and again.
CREATE TABLE server_troubles (
  role text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  trouble text NOT NULL,
  told_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (role, name)
);
