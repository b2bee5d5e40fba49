-- Up Migration

-- Why servers cannot serve, reported by servers that may be unable to reach other servers. A report is kept as long as
-- the server repeats it.
CREATE TABLE server_troubles (
  role text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  trouble text NOT NULL,
  told_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (role, name)
);
