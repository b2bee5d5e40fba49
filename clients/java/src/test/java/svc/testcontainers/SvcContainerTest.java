package svc.testcontainers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.testcontainers.containers.ContainerLaunchException;

/** Starts the image [svc-cluster], or the one that the system property `svc.image` names. */
class SvcContainerTest {
  private static final String IMAGE = System.getProperty("svc.image", "svc-cluster");
  private static final String RULES = "[{\"type\":\"loadForever\",\"tieredReplicants\":{\"hot\":1}}]";
  private static final String CSV = "time,page\n2026-01-01T00:00:00Z,Main\n2026-01-02T00:00:00Z,Other\n";
  private static SvcContainer cluster;

  @BeforeAll
  static void start() {
    cluster = new SvcContainer(IMAGE)
        .withHistoricals("hot=1,_default_tier=1")
        .withRules("wikipedia", RULES)
        .withDatasource("wikipedia", CSV, "time");
    cluster.start();
  }

  @AfterAll
  static void stop() {
    cluster.stop();
  }

  @Test
  void hasTheRules() throws Exception {
    assertTrue(get("/svc/coordinator/v1/rules/wikipedia", cluster.getAdminPassword()).body().contains("\"hot\":1"));
  }

  @Test
  void hasLoadedTheDatasourceAndServesPathsOfDruid() throws Exception {
    HttpResponse<String> answer = get("/druid/coordinator/v1/loadstatus", cluster.getAdminPassword());
    assertEquals(200, answer.statusCode());
    assertEquals("{\"wikipedia\":100.0}", answer.body().replace(":100}", ":100.0}"));
    assertTrue(get("/druid/coordinator/v1/metadata/datasources/wikipedia/segments", cluster.getAdminPassword())
        .body().contains("2026-01-02"));
  }

  @Test
  void requiresLoginAndTrust() throws Exception {
    assertEquals(401, get("/svc/coordinator/v1/loadstatus", "wrong").statusCode());
    HttpClient stranger = HttpClient.newHttpClient();
    HttpRequest request = HttpRequest.newBuilder(URI.create(cluster.getRouterUrl() + "/status/health")).build();
    assertThrows(SSLException.class, () -> stranger.send(request, HttpResponse.BodyHandlers.ofString()));
  }

  @Test
  void repeatsTheFirstRequestUntilItIsAnswered() throws Exception {
    try (Relay relay = new Relay(20)) {
      SvcContainer other = new SvcContainer(IMAGE) {
        @Override
        public String getRouterUrl() {
          relay.target = getMappedPort(9088);
          return "https://localhost:" + relay.port();
        }
      };
      try (other) {
        other.withRules("wikipedia", RULES).start();
        assertTrue(relay.closed.get() >= 20, "closed " + relay.closed);
      }
    }
  }

  @Test
  void reportsInvalidRulesAndLeavesNoContainer() {
    SvcContainer other = new SvcContainer(IMAGE).withRules("wikipedia", "[{\"type\":\"loadSometimes\"}]");
    Throwable failure = assertThrows(ContainerLaunchException.class, other::start);
    while (failure.getCause() != null) failure = failure.getCause();
    assertTrue(failure.getMessage().contains("loadSometimes"), failure.getMessage());
    assertNull(other.getContainerId());
  }

  @Test
  @Timeout(30)
  void reportsTheLogOfAContainerThatExitsAndLeavesNoContainer() {
    SvcContainer other = new SvcContainer(IMAGE).withProperty("svc.coordinator.period", "often");
    Throwable failure = assertThrows(ContainerLaunchException.class, other::start);
    while (failure.getCause() != null) failure = failure.getCause();
    assertTrue(failure.getMessage().contains("[svc.coordinator.period]"), failure.getMessage());
    assertNull(other.getContainerId());
  }

  private static HttpResponse<String> get(String path, String password) throws IOException, InterruptedException {
    String login = Base64.getEncoder().encodeToString((cluster.getAdminUser() + ":" + password).getBytes());
    HttpClient client = HttpClient.newBuilder().sslContext(cluster.getSslContext()).build();
    HttpRequest request = HttpRequest.newBuilder(URI.create(cluster.getRouterUrl() + path))
        .header("Authorization", "Basic " + login).build();
    return client.send(request, HttpResponse.BodyHandlers.ofString());
  }

  /** Forwards connections to a port, but first closes a number of them without an answer, as a busy machine may do. */
  private static class Relay implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final AtomicInteger closed = new AtomicInteger();
    private volatile int target;

    Relay(int toClose) throws IOException {
      inBackground(() -> {
        while (true) {
          Socket incoming = server.accept();
          if (closed.get() < toClose) {
            closed.incrementAndGet();
            incoming.close();
          } else {
            Socket outgoing = new Socket(InetAddress.getLoopbackAddress(), target);
            inBackground(() -> incoming.getInputStream().transferTo(outgoing.getOutputStream()));
            inBackground(() -> outgoing.getInputStream().transferTo(incoming.getOutputStream()));
          }
        }
      });
    }

    int port() {
      return server.getLocalPort();
    }

    @Override
    public void close() throws IOException {
      server.close();
    }

    /** Runs a task until it fails, which it does when a connection is closed. */
    private static void inBackground(Callable<?> task) {
      Thread thread = new Thread(new FutureTask<>(task));
      thread.setDaemon(true);
      thread.start();
    }
  }
}
