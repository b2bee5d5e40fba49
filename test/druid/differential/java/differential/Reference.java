package differential;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.inject.Injector;
import com.google.inject.Key;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.curator.test.TestingServer;
import org.apache.druid.audit.AuditInfo;
import org.apache.druid.cli.CliCoordinator;
import org.apache.druid.client.DruidServer;
import org.apache.druid.client.ImmutableDruidDataSource;
import org.apache.druid.client.ServerInventoryView;
import org.apache.druid.common.config.JacksonConfigManager;
import org.apache.druid.discovery.DiscoveryDruidNode;
import org.apache.druid.discovery.DruidNodeAnnouncer;
import org.apache.druid.guice.StartupInjectorBuilder;
import org.apache.druid.guice.annotations.Json;
import org.apache.druid.guice.annotations.Smile;
import org.apache.druid.java.util.common.DateTimes;
import org.apache.druid.java.util.common.Intervals;
import org.apache.druid.java.util.common.lifecycle.Lifecycle;
import org.apache.druid.metadata.MetadataRuleManager;
import org.apache.druid.metadata.MetadataStorageTablesConfig;
import org.apache.druid.metadata.SQLMetadataConnector;
import org.apache.druid.metadata.SQLMetadataRuleManager;
import org.apache.druid.metadata.SegmentsMetadataManager;
import org.apache.druid.metadata.segment.cache.SegmentMetadataCache;
import org.apache.druid.server.coordinator.CoordinatorDynamicConfig;
import org.apache.druid.server.coordinator.DruidCompactionConfig;
import org.apache.druid.server.coordinator.DruidCoordinator;
import org.apache.druid.server.coordinator.loading.LoadQueuePeon;
import org.apache.druid.timeline.DataSegment;

/**
 * Runs Druid's coordinator (which is also the overlord) in this process, with an embedded ZooKeeper and data servers
 * without data. Another HTTP port replaces its state and runs its duties, so that one process serves many tests.
 * Arguments: its folder, its port, the port of its metadata store, the port for control, the ports of data servers
 * separated by commas. Further properties of Druid are system properties of Java.
 */
public class Reference {
  private static final int MAX_RUNS = 15;
  private static final long MAX_WAIT_MS = 5_000;
  private static final long MAX_SETTLE_MS = 8_000;

  private final Injector injector;
  private final ObjectMapper json;
  private final List<DataServer> dataServers = new ArrayList<>();
  private final List<DiscoveryDruidNode> announced = new ArrayList<>();

  /** A service whose injector is at hand. */
  private static class Service extends CliCoordinator {
    Injector injector() {
      return makeInjector(getNodeRoles(getProperties()));
    }
  }

  public static void main(String[] args) throws Exception {
    TestingServer zooKeeper = new TestingServer();
    Properties properties = System.getProperties();
    properties.setProperty("druid.zk.service.host", zooKeeper.getConnectString());
    properties.setProperty("druid.plaintextPort", args[1]);
    properties.setProperty("druid.metadata.storage.connector.port", args[2]);
    properties.setProperty(
        "druid.metadata.storage.connector.connectURI",
        "jdbc:derby://127.0.0.1:" + args[2] + "/" + args[0] + "/metadata.db;create=true");

    Service service = new Service();
    new StartupInjectorBuilder().forServer().build().injectMembers(service);
    Injector injector = service.injector();
    try {
      injector.getInstance(Lifecycle.class).start();
    } catch (Throwable error) {
      // Druid replaces the handler of uncaught exceptions.
      for (Throwable cause = error; cause != null; cause = cause.getCause()) {
        System.err.println(cause.getClass());
        for (StackTraceElement element : cause.getStackTrace()) System.err.println("  " + element);
        if (cause.getCause() == null) System.err.println(cause.getMessage());
      }
      System.exit(1);
    }
    new Reference(injector, args[4].split(",")).control(Integer.parseInt(args[3]));
  }

  private Reference(Injector injector, String[] ports) throws IOException {
    this.injector = injector;
    json = injector.getInstance(Key.get(ObjectMapper.class, Json.class));
    ObjectMapper smile = injector.getInstance(Key.get(ObjectMapper.class, Smile.class));
    ExecutorService threads = Executors.newCachedThreadPool();
    for (String port : ports) dataServers.add(new DataServer(Integer.parseInt(port), json, smile, threads));
  }

  private interface Command {
    Object run(JsonNode body) throws Exception;
  }

  private void control(int port) throws IOException {
    HttpServer http = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    Map<String, Command> commands =
        Map.of("/reset", this::reset, "/servers", this::replaceServers, "/settle", this::settle);
    commands.forEach((path, command) -> http.createContext(path, exchange -> handle(exchange, command)));
    http.start();
  }

  private void handle(HttpExchange exchange, Command command) throws IOException {
    try (exchange; InputStream body = exchange.getRequestBody()) {
      Object result;
      int status = 200;
      try {
        byte[] bytes = body.readAllBytes();
        result = command.run(bytes.length == 0 ? null : json.readTree(bytes));
      } catch (Throwable error) {
        error.printStackTrace();
        status = 500;
        result = Map.of("error", error.toString());
      }
      byte[] answer = json.writeValueAsBytes(result);
      exchange.sendResponseHeaders(status, answer.length);
      exchange.getResponseBody().write(answer);
    }
  }

  /** Replaces all segments, and deletes rules, configuration, audit entries, tasks, and supervisors. */
  private Object reset(JsonNode body) throws Exception {
    MetadataStorageTablesConfig tables = injector.getInstance(MetadataStorageTablesConfig.class);
    AuditInfo audit = new AuditInfo("differential", "", "reset", "");
    JacksonConfigManager configs = injector.getInstance(JacksonConfigManager.class);
    configs.set(CoordinatorDynamicConfig.CONFIG_KEY, CoordinatorDynamicConfig.builder().build(), audit);
    configs.set(DruidCompactionConfig.CONFIG_KEY, DruidCompactionConfig.legacy(), audit);
    SQLMetadataConnector connector = injector.getInstance(SQLMetadataConnector.class);
    connector
        .getDBI()
        .withHandle(
            handle -> {
              Connection connection = handle.getConnection();
              try (Statement statement = connection.createStatement()) {
                for (String table :
                    List.of(
                        tables.getSegmentsTable(),
                        tables.getAuditTable(),
                        tables.getSupervisorTable(),
                        tables.getTasksTable(),
                        tables.getTaskLockTable(),
                        tables.getDataSourceTable(),
                        tables.getPendingSegmentsTable())) {
                  statement.executeUpdate("DELETE FROM " + table);
                }
                statement.executeUpdate("DELETE FROM " + tables.getRulesTable() + " WHERE dataSource <> '_default'");
              }
              return null;
            });
    awaitCache();
    clearCache();
    connector
        .getDBI()
        .withHandle(
            handle -> {
              insert(handle.getConnection(), tables.getSegmentsTable(), body.get("segments"));
              return null;
            });
    awaitCache();
    pollStore();
    return Map.of("segments", body.get("segments").size());
  }

  /** Removes all segments from Druid's cache, which keeps those that were marked as used in the last 10 seconds. */
  private void clearCache() throws Exception {
    SegmentMetadataCache cache = injector.getInstance(SegmentMetadataCache.class);
    for (ImmutableDruidDataSource known : cache.getDataSourcesSnapshot().getDataSourcesWithAllUsedSegments()) {
      cache.writeCacheForDataSource(
          known.getName(),
          cached -> cached.deleteSegments(cached.findUsedSegmentIdsOverlapping(Intervals.ETERNITY)));
    }
  }

  private void insert(Connection connection, String table, JsonNode rows) throws Exception {
    String columns =
        "id, dataSource, created_date, start, \"end\", partitioned, version, used, payload, used_status_last_updated";
    String statement = "INSERT INTO " + table + " (" + columns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    try (PreparedStatement prepared = connection.prepareStatement(statement)) {
      for (JsonNode row : rows) {
        DataSegment segment = json.treeToValue(row.get("payload"), DataSegment.class);
        prepared.setString(1, segment.getId().toString());
        prepared.setString(2, segment.getDataSource());
        prepared.setString(3, row.get("created").asText());
        prepared.setString(4, segment.getInterval().getStart().toString());
        prepared.setString(5, segment.getInterval().getEnd().toString());
        prepared.setBoolean(6, true);
        prepared.setString(7, segment.getVersion());
        prepared.setBoolean(8, row.get("used").asBoolean());
        prepared.setBytes(9, json.writeValueAsBytes(segment));
        // The cache ignores changes that are older than its own.
        prepared.setString(10, DateTimes.nowUtc().toString());
        prepared.addBatch();
      }
      prepared.executeBatch();
    }
  }

  /** Replaces the data servers with those in the body, in the order of the ports; all are empty afterward. */
  private Object replaceServers(JsonNode body) throws Exception {
    DruidNodeAnnouncer announcer = injector.getInstance(DruidNodeAnnouncer.class);
    for (DiscoveryDruidNode node : announced) announcer.unannounce(node);
    announced.clear();
    await(() -> inventory().isEmpty(), "old servers are gone");
    List<String> names = new ArrayList<>();
    for (JsonNode wanted : body) {
      DataServer server = dataServers.get(names.size());
      server.clear();
      DiscoveryDruidNode node =
          server.describe(
              wanted.get("type").asText(),
              wanted.get("tier").asText(),
              wanted.get("size").asLong(),
              wanted.get("priority").asInt());
      announcer.announce(node);
      announced.add(node);
      names.add(server.name());
    }
    await(() -> inventory().keySet().equals(new HashSet<>(names)), "new servers are known");
    return names;
  }

  /** Runs duties until they change nothing, or at most `runs` times. */
  private Object settle(JsonNode body) throws Exception {
    DruidCoordinator coordinator = injector.getInstance(DruidCoordinator.class);
    int limit = body == null ? MAX_RUNS : body.path("runs").asInt(MAX_RUNS);
    long end = System.currentTimeMillis() + MAX_SETTLE_MS;
    Object before = readState();
    for (int run = 1; run <= limit && System.currentTimeMillis() < end; run++) {
      for (Runnable duties : dutiesOf(coordinator)) duties.run();
      boolean isIdle = await(() -> queued(coordinator) == 0 && isInventoryCurrent());
      Object after = readState();
      if (isIdle && after.equals(before)) return Map.of("settled", true, "runs", run);
      before = after;
    }
    return Map.of("settled", false, "runs", limit);
  }

  /** Lets the duties see the last changes, and returns what they may change: segments by server, and used segments. */
  private Object readState() {
    awaitCache();
    pollStore();
    return List.of(inventory(), usedSegments());
  }

  /** Waits for a complete read of the segments that starts after now. */
  private void awaitCache() {
    SegmentMetadataCache cache = injector.getInstance(SegmentMetadataCache.class);
    cache.awaitNextSync(MAX_WAIT_MS);
    cache.awaitNextSync(MAX_WAIT_MS);
  }

  private void pollStore() {
    ((SQLMetadataRuleManager) injector.getInstance(MetadataRuleManager.class)).poll();
    injector.getInstance(SegmentsMetadataManager.class).forceUpdateDataSourcesSnapshot();
  }

  @SuppressWarnings("unchecked")
  private static List<Runnable> dutiesOf(DruidCoordinator coordinator) throws Exception {
    Field field = DruidCoordinator.class.getDeclaredField("dutiesRunnables");
    field.setAccessible(true);
    return (List<Runnable>) field.get(coordinator);
  }

  private static int queued(DruidCoordinator coordinator) {
    int count = 0;
    for (LoadQueuePeon peon : coordinator.getLoadManagementPeons().values()) count += peon.getSegmentsInQueue().size();
    return count;
  }

  private Map<String, Set<String>> inventory() {
    Map<String, Set<String>> servers = new TreeMap<>();
    for (DruidServer server : injector.getInstance(ServerInventoryView.class).getInventory()) {
      Set<String> ids = new TreeSet<>();
      for (DataSegment segment : server.iterateAllSegments()) ids.add(segment.getId().toString());
      servers.put(server.getName(), ids);
    }
    return servers;
  }

  /** Whether the coordinator has heard of everything that the data servers have loaded and dropped. */
  private boolean isInventoryCurrent() {
    Map<String, Set<String>> known = inventory();
    for (DataServer server : dataServers) {
      Set<String> ids = known.get(server.name());
      if (ids != null && !ids.equals(server.segmentIds())) return false;
    }
    return true;
  }

  private Set<String> usedSegments() {
    Set<String> ids = new TreeSet<>();
    for (DataSegment segment :
        injector.getInstance(SegmentsMetadataManager.class).getRecentDataSourcesSnapshot().iterateAllUsedSegmentsInSnapshot()) {
      ids.add(segment.getId().toString());
    }
    return ids;
  }

  private interface Condition {
    boolean holds();
  }

  private static void await(Condition condition, String what) throws InterruptedException {
    if (!await(condition)) throw new IllegalStateException("Timed out: " + what);
  }

  private static boolean await(Condition condition) throws InterruptedException {
    long end = System.currentTimeMillis() + MAX_WAIT_MS;
    while (!condition.holds()) {
      if (System.currentTimeMillis() > end) return false;
      Thread.sleep(10);
    }
    return true;
  }
}
