-- Up Migration

-- Finds the segments that overlap an interval: segments of similar length that overlap it also start near it. The length class is
-- the number of hexadecimal digits of half the length, because the length of eternity does not fit into a bigint. It replaces an
-- index by start and end, which is of little use to find overlaps.
CREATE INDEX segments_by_length ON segments
  (datasource, greatest(5, least(11, length(to_hex((end_ms >> 1) - (start_ms >> 1))))), start_ms);
DROP INDEX segments_by_interval;
