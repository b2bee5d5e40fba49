-- Up Migration

-- Why servers cannot serve. Each server with a problem repeats it here for as long as it lasts.
CREATE TABLE server_troubles (
  role text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  trouble text NOT NULL,
  told_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (role, name)
);
