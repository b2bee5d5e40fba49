package differential;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.druid.discovery.DataNodeService;
import org.apache.druid.discovery.DiscoveryDruidNode;
import org.apache.druid.discovery.NodeRole;
import org.apache.druid.server.DruidNode;
import org.apache.druid.server.coordination.ChangeRequestHistory;
import org.apache.druid.server.coordination.ChangeRequestsSnapshot;
import org.apache.druid.server.coordination.DataSegmentChangeRequest;
import org.apache.druid.server.coordination.DataSegmentChangeResponse;
import org.apache.druid.server.coordination.SegmentChangeRequestDrop;
import org.apache.druid.server.coordination.SegmentChangeRequestLoad;
import org.apache.druid.server.coordination.SegmentChangeRequestNoop;
import org.apache.druid.server.coordination.SegmentChangeStatus;
import org.apache.druid.server.coordination.ServerType;
import org.apache.druid.timeline.DataSegment;
import org.apache.druid.timeline.SegmentId;

/** A data server without data: it answers the coordinator as a historical or broker does, and loads at once. */
class DataServer {
  private static final int NO_CONTENT = 204;

  private final ObjectMapper json;
  private final ObjectMapper smile;
  private final HttpServer http;
  private final Map<SegmentId, DataSegment> segments = new LinkedHashMap<>();
  private ChangeRequestHistory<DataSegmentChangeRequest> history = new ChangeRequestHistory<>();

  DataServer(int port, ObjectMapper json, ObjectMapper smile, ExecutorService threads) throws IOException {
    this.json = json;
    this.smile = smile;
    http = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    http.setExecutor(threads);
    http.createContext("/druid-internal/v1/segments", this::handle);
    http.start();
  }

  String name() {
    return "127.0.0.1:" + http.getAddress().getPort();
  }

  /** Forgets all segments. Answers waiting requests, because Druid has few connections to each server. */
  synchronized void clear() {
    segments.clear();
    history.addChangeRequest(new SegmentChangeRequestNoop());
    history = new ChangeRequestHistory<>();
  }

  synchronized Set<String> segmentIds() {
    Set<String> ids = new TreeSet<>();
    for (SegmentId id : segments.keySet()) ids.add(id.toString());
    return ids;
  }

  /** How other servers find this one. */
  DiscoveryDruidNode describe(String type, String tier, long maxSizeBytes, int priority) {
    ServerType serverType = ServerType.fromString(type);
    NodeRole role = serverType == ServerType.BROKER ? NodeRole.BROKER : NodeRole.HISTORICAL;
    DruidNode node =
        new DruidNode("druid/" + type, "127.0.0.1", true, http.getAddress().getPort(), null, true, false);
    DataNodeService service = new DataNodeService(tier, maxSizeBytes, null, serverType, priority);
    return new DiscoveryDruidNode(node, role, Map.of(service.getName(), service));
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String path = exchange.getRequestURI().getPath();
      if (path.endsWith("/changeRequests")) {
        List<DataSegmentChangeRequest> requests =
            json.readValue(exchange.getRequestBody(), new TypeReference<>() {});
        List<DataSegmentChangeResponse> responses = apply(requests);
        byte[] body =
            json.writerFor(new TypeReference<List<DataSegmentChangeResponse>>() {}).writeValueAsBytes(responses);
        answer(exchange, "application/json", body);
      } else if (path.endsWith("/loadCapabilities")) {
        answer(exchange, "application/json", "{\"numLoadingThreads\":4,\"numTurboLoadingThreads\":4}".getBytes());
      } else {
        listChanges(exchange);
      }
    } catch (Exception error) {
      error.printStackTrace();
      throw new IOException(error);
    }
  }

  private synchronized List<DataSegmentChangeResponse> apply(List<DataSegmentChangeRequest> requests) {
    List<DataSegmentChangeResponse> responses = new ArrayList<>();
    for (DataSegmentChangeRequest request : requests) {
      boolean isChange = true;
      if (request instanceof SegmentChangeRequestLoad) {
        DataSegment segment = ((SegmentChangeRequestLoad) request).getSegment();
        isChange = segments.put(segment.getId(), segment) == null;
      } else if (request instanceof SegmentChangeRequestDrop) {
        isChange = segments.remove(((SegmentChangeRequestDrop) request).getSegment().getId()) != null;
      }
      if (isChange) history.addChangeRequest(request);
      responses.add(new DataSegmentChangeResponse(request, SegmentChangeStatus.success()));
    }
    return responses;
  }

  private void listChanges(HttpExchange exchange) throws Exception {
    Map<String, String> query = new HashMap<>();
    for (String pair : exchange.getRequestURI().getQuery().split("&")) {
      int equals = pair.indexOf('=');
      query.put(pair.substring(0, equals), pair.substring(equals + 1));
    }
    long counter = Long.parseLong(query.get("counter"));
    long timeout = Long.parseLong(query.get("timeout"));
    ChangeRequestsSnapshot<DataSegmentChangeRequest> changes;
    if (counter < 0) {
      synchronized (this) {
        List<DataSegmentChangeRequest> all = new ArrayList<>();
        for (DataSegment segment : segments.values()) all.add(new SegmentChangeRequestLoad(segment));
        changes = ChangeRequestsSnapshot.success(history.getLastCounter(), all);
      }
    } else {
      long hash = Long.parseLong(query.get("hash"));
      try {
        changes =
            history
                .getRequestsSince(new ChangeRequestHistory.Counter(counter, hash))
                .get(timeout, TimeUnit.MILLISECONDS);
      } catch (TimeoutException error) {
        exchange.sendResponseHeaders(NO_CONTENT, -1);
        return;
      }
    }
    byte[] body =
        smile
            .writerFor(new TypeReference<ChangeRequestsSnapshot<DataSegmentChangeRequest>>() {})
            .writeValueAsBytes(changes);
    answer(exchange, "application/x-jackson-smile", body);
  }

  private static void answer(HttpExchange exchange, String type, byte[] body) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", type);
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
  }
}
