package interop;

import static interop.Calls.holds;
import static interop.Calls.same;

import com.fasterxml.jackson.databind.InjectableValues;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.jsontype.NamedType;
import com.google.common.collect.ImmutableList;
import com.google.common.util.concurrent.ListenableFuture;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.druid.client.coordinator.CoordinatorClient;
import org.apache.druid.client.coordinator.CoordinatorClientImpl;
import org.apache.druid.indexer.TaskState;
import org.apache.druid.indexer.TaskStatusPlus;
import org.apache.druid.indexing.overlord.supervisor.SupervisorStatus;
import org.apache.druid.jackson.DefaultObjectMapper;
import org.apache.druid.java.util.common.Intervals;
import org.apache.druid.java.util.common.lifecycle.Lifecycle;
import org.apache.druid.java.util.common.parsers.CloseableIterator;
import org.apache.druid.java.util.http.client.HttpClient;
import org.apache.druid.java.util.http.client.HttpClientConfig;
import org.apache.druid.java.util.http.client.HttpClientInit;
import org.apache.druid.rpc.FixedServiceLocator;
import org.apache.druid.rpc.ServiceClient;
import org.apache.druid.rpc.ServiceClientFactoryImpl;
import org.apache.druid.rpc.ServiceLocation;
import org.apache.druid.rpc.StandardRetryPolicy;
import org.apache.druid.rpc.indexing.OverlordClient;
import org.apache.druid.rpc.indexing.OverlordClientImpl;
import org.apache.druid.server.compaction.CompactionStatusResponse;
import org.apache.druid.server.coordinator.AutoCompactionSnapshot;
import org.apache.druid.server.coordinator.ClusterCompactionConfig;
import org.apache.druid.server.coordinator.CoordinatorDynamicConfig;
import org.apache.druid.server.coordinator.rules.ForeverLoadRule;
import org.apache.druid.server.coordinator.rules.PeriodLoadRule;
import org.apache.druid.server.coordinator.rules.Rule;
import org.apache.druid.server.http.SegmentsToUpdateFilter;
import org.apache.druid.timeline.DataSegment;
import org.apache.druid.timeline.SegmentId;
import org.apache.druid.timeline.SegmentStatusInCluster;
import org.joda.time.Interval;
import org.joda.time.Period;

/**
 * Calls a cluster with Druid's clients: every method of both, or the reason why not.
 * Arguments: URL of the coordinator, URL of the overlord (both may be the router's), the coordinator's and the
 * overlord's own URLs, a datasource with segments of one day each, their number, the id of a task that ingested them, and
 * a URL that never responds. The datasource has a compaction configuration, and supervisors do not run compaction.
 */
public final class Interop {
  private final CoordinatorClient coordinator;
  private final OverlordClient overlord;
  private final URI coordinatorLeader;
  private final URI overlordLeader;
  private final String dataSource;
  private final int segmentCount;
  private final String ingestionTask;
  private final String silentUri;
  private final List<DataSegment> segments = new ArrayList<>();

  private Interop(ClientsOf clients, String[] args) {
    coordinator = new CoordinatorClientImpl(clients.of("coordinator", args[0]), clients.mapper);
    overlord = new OverlordClientImpl(clients.of("overlord", args[1]), clients.mapper);
    coordinatorLeader = URI.create(args[2]);
    overlordLeader = URI.create(args[3]);
    dataSource = args[4];
    segmentCount = Integer.parseInt(args[5]);
    ingestionTask = args[6];
    silentUri = args[7];
  }

  public static void main(String[] args) throws Exception {
    ClientsOf clients = new ClientsOf();
    boolean isWell;
    try {
      Interop interop = new Interop(clients, args);
      isWell = interop.callCoordinator() & interop.callOverlord();
    } finally {
      clients.close();
    }
    System.exit(isWell ? 0 : 1);
  }

  private boolean callCoordinator() {
    Calls calls = new Calls(CoordinatorClient.class);
    calls.call("findCurrentLeader()", () -> same(coordinatorLeader, get(coordinator.findCurrentLeader())));
    calls.call(
        "withRetryPolicy(ServiceRetryPolicy)",
        () -> get(coordinator.withRetryPolicy(StandardRetryPolicy.noRetries()).findCurrentLeader()));
    calls.call(
        "fetchDataSourcesWithUsedSegments()",
        () -> holds(get(coordinator.fetchDataSourcesWithUsedSegments()).contains(dataSource), dataSource));
    calls.call(
        "fetchAllUsedSegmentsWithOvershadowedStatus(Set,boolean)",
        () -> {
          for (Set<String> asked : new Set[] {null, Set.of(dataSource)}) {
            segments.clear();
            try (CloseableIterator<SegmentStatusInCluster> all =
                get(coordinator.fetchAllUsedSegmentsWithOvershadowedStatus(asked, true))) {
              while (all.hasNext()) {
                SegmentStatusInCluster one = all.next();
                holds(!one.isOvershadowed() && !one.isRealtime(), one);
                holds(one.getReplicationFactor() > 0 && one.getNumRows() > 0, one);
                segments.add(one.getDataSegment());
              }
            }
            same(segmentCount, segments.size());
          }
        });
    calls.call(
        "fetchUsedSegments(String,List)",
        () -> {
          List<Interval> first = ImmutableList.of(segments.get(0).getInterval());
          same(Set.of(segments.get(0)), Set.copyOf(get(coordinator.fetchUsedSegments(dataSource, first))));
          List<Interval> ever = ImmutableList.of(Intervals.of("1000/3000"));
          same(Set.copyOf(segments), Set.copyOf(get(coordinator.fetchUsedSegments(dataSource, ever))));
        });
    calls.call(
        "fetchSegment(String,String,boolean)",
        () -> {
          DataSegment one = segments.get(0);
          for (boolean includeUnused : new boolean[] {true, false}) {
            DataSegment found = get(coordinator.fetchSegment(dataSource, one.getId().toString(), includeUnused));
            same(one, found);
            same(one.getSize(), found.getSize());
            same(one.getShardSpec(), found.getShardSpec());
          }
        });
    List<Rule> rules =
        ImmutableList.of(
            new PeriodLoadRule(Period.parse("P100Y"), false, Map.of("_default_tier", 1), true),
            new ForeverLoadRule(Map.of("_default_tier", 1), false));
    calls.call(
        "updateRulesForDatasource(String,List)",
        () -> get(coordinator.updateRulesForDatasource(dataSource, rules)));
    calls.call(
        "getRulesForAllDatasources()",
        () -> {
          Map<String, List<Rule>> all = get(coordinator.getRulesForAllDatasources());
          same(rules, all.get(dataSource));
          same(1, all.get("_default").size());
        });
    calls.call(
        "updateCoordinatorDynamicConfig(CoordinatorDynamicConfig)",
        () -> {
          CoordinatorDynamicConfig config =
              CoordinatorDynamicConfig.builder()
                  .withMaxSegmentsToMove(17)
                  .withDecommissioningNodes(Set.of("nobody:1"))
                  .build();
          get(coordinator.updateCoordinatorDynamicConfig(config));
        });
    calls.call(
        "getCoordinatorDynamicConfig()",
        () -> {
          CoordinatorDynamicConfig config = get(coordinator.getCoordinatorDynamicConfig());
          same(17, config.getMaxSegmentsToMove());
          same(Set.of("nobody:1"), config.getDecommissioningNodes());
        });
    calls.call(
        "getCompactionSnapshots(String)",
        () -> {
          for (String asked : new String[] {null, dataSource}) {
            CompactionStatusResponse status = get(coordinator.getCompactionSnapshots(asked));
            same(1, status.getLatestStatus().size());
            AutoCompactionSnapshot one = status.getLatestStatus().get(0);
            same(dataSource, one.getDataSource());
            same(AutoCompactionSnapshot.ScheduleStatus.RUNNING, one.getScheduleStatus());
            long counted =
                one.getSegmentCountAwaitingCompaction() + one.getSegmentCountCompacted() + one.getSegmentCountSkipped();
            same((long) segmentCount, counted);
          }
        });
    String streams = "streaming ingestion, which the specification does not include";
    String lookups = "lookups, which the specification does not include";
    String views = "internals of Druid's query servers, which the specification does not include";
    calls.leaveOut("isHandoffComplete(String,SegmentDescriptor)", streams);
    calls.leaveOut("fetchServerViewSegments(String,List)", streams);
    calls.leaveOut("fetchDataSourceInformation(Set)", views);
    calls.leaveOut("fetchBootstrapSegments()", views);
    calls.leaveOut("getBrokerDynamicConfig()", views);
    calls.leaveOut("updateAllLookups(Object)", lookups);
    calls.leaveOut("fetchLookupsForTierSync(String)", lookups);
    return calls.conclude();
  }

  private boolean callOverlord() {
    Calls calls = new Calls(OverlordClient.class);
    calls.call("findCurrentLeader()", () -> same(overlordLeader, get(overlord.findCurrentLeader())));
    calls.call(
        "withRetryPolicy(ServiceRetryPolicy)",
        () -> get(overlord.withRetryPolicy(StandardRetryPolicy.noRetries()).findCurrentLeader()));
    calls.call(
        "getWorkers()",
        () -> {
          var workers = get(overlord.getWorkers());
          same(1, workers.size());
          same(4, workers.get(0).getWorker().getCapacity());
        });
    calls.call(
        "getTotalWorkerCapacity()", () -> same(4, get(overlord.getTotalWorkerCapacity()).getCurrentClusterCapacity()));
    callTasks(calls);
    callSegments(calls);
    callCompaction(calls);
    calls.leaveOut(
        "findLockedIntervals(List)", "task locks of Druid, which the specification does not include");
    calls.leaveOut(
        "killPendingSegments(String,Interval)",
        "pending segments of streams, which the specification does not include");
    calls.leaveOut("taskReportAsMap(String)", "task reports, which the specification does not include");
    return calls.conclude();
  }

  private void callTasks(Calls calls) {
    calls.call(
        "taskStatuses(String,String,Integer)",
        () -> {
          List<String> found = new ArrayList<>();
          try (CloseableIterator<TaskStatusPlus> all = get(overlord.taskStatuses("complete", dataSource, 10))) {
            all.forEachRemaining(one -> found.add(one.getId()));
          }
          holds(found.contains(ingestionTask), found);
        });
    calls.call(
        "taskStatuses(Set)",
        () -> {
          var found = get(overlord.taskStatuses(Set.of(ingestionTask, "nosuchtask")));
          same(Set.of(ingestionTask), found.keySet());
          same(TaskState.SUCCESS, found.get(ingestionTask).getStatusCode());
        });
    calls.call(
        "taskStatus(String)",
        () -> {
          var found = get(overlord.taskStatus(ingestionTask));
          same(ingestionTask, found.getTask());
          same(TaskState.SUCCESS, found.getStatus().getStatusCode());
          same(dataSource, found.getStatus().getDataSource());
        });
    String late = "interop_" + System.nanoTime();
    calls.call("runTask(String,Object)", () -> get(overlord.runTask(late, waitingTask(late))));
    calls.call(
        "cancelTask(String)",
        () -> {
          get(overlord.cancelTask(late));
          same(TaskState.FAILED, untilOver(late));
        });
    calls.call(
        "runKillTask(String,String,Interval,List,Integer,DateTime)",
        () -> {
          DataSegment last = segments.get(segments.size() - 1);
          get(overlord.markSegmentAsUnused(last.getId()));
          String kill =
              get(overlord.runKillTask("interop", dataSource, last.getInterval(), null, null, null));
          same(TaskState.SUCCESS, untilOver(kill));
          segments.remove(last);
          holds(get(overlord.taskPayload(kill)).getPayload() != null, kill);
        });
    calls.call(
        "taskPayload(String)",
        () -> {
          try (CloseableIterator<TaskStatusPlus> all = get(overlord.taskStatuses("complete", dataSource, 1))) {
            String newest = all.next().getId();
            var found = get(overlord.taskPayload(newest));
            same(newest, found.getTask());
            same("kill", found.getPayload().getType());
            same(dataSource, found.getPayload().getDataSource());
          }
        });
  }

  private void callSegments(Calls calls) {
    SegmentId id = segments.get(0).getId();
    SegmentsToUpdateFilter filter = new SegmentsToUpdateFilter(id.getInterval(), null, null);
    calls.call(
        "markSegmentAsUnused(SegmentId)",
        () -> {
          same(1, get(overlord.markSegmentAsUnused(id)).getNumChangedSegments());
          same(0, get(overlord.markSegmentAsUnused(id)).getNumChangedSegments());
        });
    calls.call(
        "markSegmentAsUsed(SegmentId)", () -> same(1, get(overlord.markSegmentAsUsed(id)).getNumChangedSegments()));
    calls.call(
        "markSegmentsAsUnused(String,SegmentsToUpdateFilter)",
        () -> same(1, get(overlord.markSegmentsAsUnused(dataSource, filter)).getNumChangedSegments()));
    calls.call(
        "markNonOvershadowedSegmentsAsUsed(String,SegmentsToUpdateFilter)",
        () -> same(1, get(overlord.markNonOvershadowedSegmentsAsUsed(dataSource, filter)).getNumChangedSegments()));
    calls.call(
        "markSegmentsAsUnused(String)",
        () -> same(segments.size(), get(overlord.markSegmentsAsUnused(dataSource)).getNumChangedSegments()));
    calls.call(
        "markNonOvershadowedSegmentsAsUsed(String)",
        () -> same(segments.size(), get(overlord.markNonOvershadowedSegmentsAsUsed(dataSource)).getNumChangedSegments()));
  }

  private void callCompaction(Calls calls) {
    calls.call("isCompactionSupervisorEnabled()", () -> same(false, get(overlord.isCompactionSupervisorEnabled())));
    calls.call(
        "updateClusterCompactionConfig(ClusterCompactionConfig)",
        () -> holds(get(overlord.updateClusterCompactionConfig(clusterConfig(true))).isSuccess(), "no success"));
    calls.call(
        "getClusterCompactionConfig()",
        () -> same(clusterConfig(true), get(overlord.getClusterCompactionConfig())));
    CompactionSpec spec = new CompactionSpec(Map.of("dataSource", dataSource), true);
    calls.call(
        "postSupervisor(SupervisorSpec)",
        () -> same(spec.getId(), get(overlord.postSupervisor(spec)).get("id")));
    calls.call(
        "supervisorStatuses()",
        () -> {
          List<SupervisorStatus> found = new ArrayList<>();
          try (CloseableIterator<SupervisorStatus> all = get(overlord.supervisorStatuses())) {
            all.forEachRemaining(found::add);
          }
          same(1, found.size());
          SupervisorStatus one = found.get(0);
          same(spec.getId(), one.getId());
          same("SUSPENDED", one.getState());
          same(CompactionSpec.TYPE, one.getType());
          same(true, one.isSuspended());
          holds(one.getSpecString().contains(dataSource), one.getSpecString());
        });
    calls.call(
        "terminateSupervisor(String)",
        () -> same(spec.getId(), get(overlord.terminateSupervisor(spec.getId())).get("id")));
    get(overlord.updateClusterCompactionConfig(clusterConfig(false)));
  }

  private static ClusterCompactionConfig clusterConfig(boolean useSupervisors) {
    return ClusterCompactionConfig.builder()
        .compactionTaskSlotRatio(0.25)
        .maxCompactionTaskSlots(7)
        .useSupervisors(useSupervisors)
        .build();
  }

  /** A task that reads from a URL that never responds: it runs until it is canceled. */
  private Map<String, Object> waitingTask(String id) {
    Map<String, Object> dataSchema =
        Map.of(
            "dataSource", dataSource + "_other",
            "timestampSpec", Map.of("column", "time", "format", "iso"),
            "dimensionsSpec", Map.of("dimensions", List.of("number")),
            "granularitySpec", Map.of("segmentGranularity", "DAY"));
    Map<String, Object> ioConfig =
        Map.of(
            "type", "index_parallel",
            "inputSource", Map.of("type", "http", "uris", List.of(silentUri)),
            "inputFormat", Map.of("type", "csv", "columns", List.of("time", "number")));
    return Map.of(
        "type", "index_parallel", "id", id, "spec", Map.of("dataSchema", dataSchema, "ioConfig", ioConfig));
  }

  private TaskState untilOver(String task) throws Exception {
    for (long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1); ; ) {
      TaskState state = get(overlord.taskStatus(task)).getStatus().getStatusCode();
      if (state.isComplete() || System.nanoTime() > deadline) {
        return state;
      }
      Thread.sleep(100);
    }
  }

  private static <T> T get(ListenableFuture<T> answer) {
    try {
      return answer.get(1, TimeUnit.MINUTES);
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  /** Creates service clients, and closes their shared resources. */
  private static final class ClientsOf implements AutoCloseable {
    final ObjectMapper mapper = new DefaultObjectMapper();
    private final Lifecycle lifecycle = new Lifecycle();
    private final ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor();
    private final HttpClient http;

    ClientsOf() throws Exception {
      mapper.setInjectableValues(
          new InjectableValues.Std()
              .addValue(ObjectMapper.class, mapper)
              .addValue(DataSegment.PruneSpecsHolder.class, DataSegment.PruneSpecsHolder.DEFAULT));
      mapper.registerSubtypes(new NamedType(CompactionSpec.class, CompactionSpec.TYPE));
      http = HttpClientInit.createClient(HttpClientConfig.builder().withNumConnections(4).build(), lifecycle);
      lifecycle.start();
    }

    ServiceClient of(String service, String url) {
      FixedServiceLocator locator = new FixedServiceLocator(ServiceLocation.fromUri(URI.create(url)));
      return new ServiceClientFactoryImpl(http, executor).makeClient(service, locator, StandardRetryPolicy.noRetries());
    }

    @Override
    public void close() {
      executor.shutdownNow();
      lifecycle.stop();
    }
  }
}
