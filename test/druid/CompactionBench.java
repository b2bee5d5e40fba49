import com.fasterxml.jackson.databind.InjectableValues;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.druid.client.indexing.ClientCompactionTaskQueryTuningConfig;
import org.apache.druid.indexer.granularity.UniformGranularitySpec;
import org.apache.druid.indexer.partitions.DynamicPartitionsSpec;
import org.apache.druid.indexer.partitions.PartitionsSpec;
import org.apache.druid.jackson.DefaultObjectMapper;
import org.apache.druid.java.util.common.DateTimes;
import org.apache.druid.java.util.common.granularity.Granularity;
import org.apache.druid.segment.IndexSpec;
import org.apache.druid.server.compaction.CompactionCandidate;
import org.apache.druid.server.compaction.CompactionCandidateSearchPolicy;
import org.apache.druid.server.compaction.CompactionStatus;
import org.apache.druid.server.compaction.PriorityBasedCompactionSegmentIterator;
import org.apache.druid.server.coordinator.DataSourceCompactionConfig;
import org.apache.druid.server.coordinator.InlineSchemaDataSourceCompactionConfig;
import org.apache.druid.timeline.CompactionState;
import org.apache.druid.timeline.DataSegment;
import org.apache.druid.timeline.SegmentTimeline;
import org.apache.druid.timeline.partition.NumberedShardSpec;
import org.joda.time.DateTime;
import org.joda.time.Interval;

/**
 * Measures how long Druid 37 takes to decide what to compact, for the same segments as `svc dev bench compaction`: daily
 * intervals of 20 segments, one third never compacted, one third compacted as configured, and one third compacted with
 * another configuration. The timelines are built in advance. Arguments: segments, datasources, rounds. Prints one line of
 * JSON per case, with the milliseconds of each round.
 */
public class CompactionBench {
  private static final int SEGMENTS_OF_DAY = 20;

  public static void main(String[] arguments) throws Exception {
    int segments = Integer.parseInt(arguments[0]);
    int datasources = Integer.parseInt(arguments[1]);
    int rounds = Integer.parseInt(arguments[2]);
    ObjectMapper mapper = new DefaultObjectMapper();
    mapper.setInjectableValues(
        new InjectableValues.Std()
            .addValue(DataSegment.PruneSpecsHolder.class, DataSegment.PruneSpecsHolder.DEFAULT));
    for (String granularity : Arrays.asList(null, "DAY", "MONTH")) {
      Map<String, DataSourceCompactionConfig> configs = new LinkedHashMap<>();
      Map<String, SegmentTimeline> timelines = new LinkedHashMap<>();
      for (int number = 0; number < datasources; number++) {
        String name = "datasource" + number;
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("dataSource", name);
        json.put(
            "tuningConfig", Map.of("partitionsSpec", Map.of("type", "dynamic", "maxRowsPerSegment", 5_000_000)));
        if (granularity != null) json.put("granularitySpec", Map.of("segmentGranularity", granularity));
        DataSourceCompactionConfig config =
            mapper.readValue(mapper.writeValueAsString(json), InlineSchemaDataSourceCompactionConfig.class);
        configs.put(name, config);
        timelines.put(name, timeline(name, segments / datasources, states(config, granularity)));
      }
      for (String type : List.of("newestSegmentFirst", "mostFragmentedFirst")) {
        CompactionCandidateSearchPolicy policy =
            mapper.readValue("{\"type\":\"" + type + "\"}", CompactionCandidateSearchPolicy.class);
        List<Long> times = new ArrayList<>();
        int candidates = 0;
        for (int round = 0; round < rounds; round++) {
          long startedAt = System.nanoTime();
          candidates = 0;
          PriorityBasedCompactionSegmentIterator iterator =
              new PriorityBasedCompactionSegmentIterator(policy, configs, timelines, Collections.emptyMap(), null);
          while (iterator.hasNext()) {
            CompactionCandidate candidate = iterator.next();
            policy.checkEligibilityForCompaction(candidate, null);
            candidates++;
          }
          times.add((System.nanoTime() - startedAt) / 1_000_000);
        }
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("policy", type);
        result.put("segmentGranularity", granularity == null ? "none" : granularity);
        result.put("candidates", candidates);
        result.put("milliseconds", times);
        System.out.println(mapper.writeValueAsString(result));
      }
    }
  }

  /** Never compacted, compacted as configured, and compacted with another configuration. */
  private static List<CompactionState> states(DataSourceCompactionConfig config, String granularity) {
    IndexSpec indexSpec = IndexSpec.getDefault().getEffectiveSpec();
    PartitionsSpec configured =
        CompactionStatus.findPartitionsSpecFromConfig(
            ClientCompactionTaskQueryTuningConfig.from(config.getTuningConfig(), config.getMaxRowsPerSegment(), false));
    UniformGranularitySpec granularitySpec =
        granularity == null
            ? null
            : new UniformGranularitySpec(Granularity.fromString(granularity), null, null, null);
    return Arrays.asList(
        null,
        new CompactionState(configured, null, null, null, indexSpec, granularitySpec, null),
        new CompactionState(new DynamicPartitionsSpec(77, null), null, null, null, indexSpec, null, null));
  }

  private static SegmentTimeline timeline(String name, int count, List<CompactionState> states) {
    DateTime first = DateTimes.of("2020-01-01T00:00:00Z");
    List<DataSegment> segments = new ArrayList<>(count);
    for (int index = 0; index < count; index++) {
      int day = index / SEGMENTS_OF_DAY;
      DateTime start = first.plusDays(day);
      segments.add(
          DataSegment.builder()
              .dataSource(name)
              .interval(new Interval(start, start.plusDays(1)))
              .version("2026-01-01T00:00:00.000Z")
              .shardSpec(new NumberedShardSpec(index % SEGMENTS_OF_DAY, SEGMENTS_OF_DAY))
              .size(5_000_000)
              .totalRows(100_000)
              .lastCompactionState(states.get(day % states.size()))
              .binaryVersion(9)
              .build());
    }
    return SegmentTimeline.forSegments(segments);
  }
}
