package svc.testcontainers;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import com.github.dockerjava.api.command.InspectContainerResponse;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.ContainerLaunchException;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.output.FrameConsumerResultCallback;
import org.testcontainers.containers.output.OutputFrame;
import org.testcontainers.containers.output.OutputFrame.OutputType;
import org.testcontainers.containers.output.WaitingConsumer;
import org.testcontainers.containers.wait.strategy.AbstractWaitStrategy;
import org.testcontainers.utility.DockerImageName;

/**
 * A complete svc cluster in one container, with TLS and logins. Every path is also served under {@code /druid}, so clients
 * written for Apache Druid work unchanged. The coordinator runs once per second.
 */
public class SvcContainer extends GenericContainer<SvcContainer> {
  private static final int ROUTER_PORT = 9088;
  private static final String CERTIFICATE = "/data/.svc/pki/authority.pem";
  private static final String ADMIN_PASSWORD = "/data/.svc/secrets/admin-password";
  private static final Duration START_TIMEOUT = Duration.ofMinutes(2);
  private static final Duration LOAD_TIMEOUT = Duration.ofMinutes(1);
  private static final Duration POLL = Duration.ofMillis(100);
  private static final int MAX_LOG_LINES = 20;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, String> rules = new LinkedHashMap<>();
  private final Map<String, Datasource> datasources = new LinkedHashMap<>();
  private String adminPassword;
  private String certificate;
  private SSLContext sslContext;
  private HttpClient client;

  private record Datasource(String csv, String timestampColumn) {}

  /** Creates a container of an image with a complete cluster, such as {@code svc-cluster}. */
  public SvcContainer(String image) {
    this(DockerImageName.parse(image));
  }

  /** Creates a container of an image with a complete cluster. */
  public SvcContainer(DockerImageName image) {
    super(image);
    withExposedPorts(ROUTER_PORT);
    withProperty("svc.api.aliases", "[\"druid\"]");
    withProperty("svc.coordinator.period", "PT1S");
    waitingFor(new ReadyStrategy().withStartupTimeout(START_TIMEOUT));
  }

  /** Sets a property of all servers, such as {@code svc.server.maxSize}. */
  public SvcContainer withProperty(String name, String value) {
    return withEnv(name.replace('.', '_'), value);
  }

  /** Sets the number of historicals by tier, such as {@code hot=2,_default_tier=1}. */
  public SvcContainer withHistoricals(String numbersByTier) {
    return withEnv("SVC_HISTORICALS", numbersByTier);
  }

  /** Sets the retention rules of a datasource, or the default rules ({@code _default}), to a JSON array. */
  public SvcContainer withRules(String dataSource, String rulesJson) {
    rules.put(dataSource, rulesJson);
    return this;
  }

  /**
   * Ingests rows of CSV, whose first line names the columns, as one segment per day. {@link #start} returns when the
   * segments that the rules load are loaded.
   */
  public SvcContainer withDatasource(String name, String csv, String timestampColumn) {
    datasources.put(name, new Datasource(csv, timestampColumn));
    return this;
  }

  /** The URL of the router. */
  public String getRouterUrl() {
    return "https://" + getHost() + ":" + getMappedPort(ROUTER_PORT);
  }

  /** The user who may do everything. */
  public String getAdminUser() {
    return "admin";
  }

  /** The password of {@link #getAdminUser}: a random one, unless the environment sets another. */
  public String getAdminPassword() {
    return adminPassword;
  }

  /** The certificate of the authority that clients must trust (PEM). */
  public String getCertificate() {
    return certificate;
  }

  /** A context that trusts the servers of this cluster, and no others. */
  public SSLContext getSslContext() {
    return sslContext;
  }

  @Override
  protected void configure() {
    // The certificates must be valid for the address at which tests reach the container.
    withEnv("SVC_HOSTS", DockerClientFactory.instance().dockerHostIpAddress());
  }

  /**
   * Starts the container. Throws a {@link ContainerLaunchException}, and leaves no container behind, if the cluster does not
   * start, or rejects rules or data. If the container exits, the message of a cause contains the end of its log.
   */
  @Override
  public void start() {
    try {
      super.start();
    } catch (RuntimeException e) {
      stop();
      throw e;
    }
  }

  /** Waits for the line that says that the cluster is ready. Fails when the log ends, because the container has exited. */
  private static class ReadyStrategy extends AbstractWaitStrategy {
    @Override
    protected void waitUntilReady() {
      List<String> log = new ArrayList<>();
      WaitingConsumer output = new WaitingConsumer();
      try (FrameConsumerResultCallback callback = new FrameConsumerResultCallback()) {
        callback.addConsumer(OutputType.STDOUT, output);
        callback.addConsumer(OutputType.STDERR, output);
        waitStrategyTarget.getDockerClient().logContainerCmd(waitStrategyTarget.getContainerId())
            .withFollowStream(true).withSince(0).withStdOut(true).withStdErr(true).exec(callback);
        output.waitUntil(frame -> isReady(frame, log), (int) startupTimeout.toSeconds(), TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        throw new ContainerLaunchException("Timed out waiting for the cluster. " + endOf(log), e);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static boolean isReady(OutputFrame frame, List<String> log) {
      if (frame.getType() == OutputType.END) throw new ContainerLaunchException("The container exited. " + endOf(log));
      log.add(frame.getUtf8String());
      return frame.getUtf8String().startsWith("Ready: ");
    }

    private static String endOf(List<String> log) {
      return "The end of its log:\n" + String.join("", log.subList(Math.max(0, log.size() - MAX_LOG_LINES), log.size()));
    }
  }

  @Override
  protected void containerIsStarted(InspectContainerResponse info) {
    certificate = textOf(CERTIFICATE);
    adminPassword = textOf(ADMIN_PASSWORD);
    sslContext = contextTrusting(certificate);
    client = HttpClient.newBuilder().sslContext(sslContext).build();
    awaitAnswer();
    rules.forEach((name, json) -> send("POST", "/svc/coordinator/v1/rules/" + encoded(name), json));
    datasources.entrySet().stream().map(entry -> submit(entry.getKey(), entry.getValue())).toList()
        .forEach(this::awaitTask);
    if (!datasources.isEmpty()) awaitLoaded();
  }

  /**
   * Waits until the router answers through the mapped port. On a busy machine, the first connections may be closed without an
   * answer, although the cluster is ready. Only this request is repeated, because it changes nothing.
   */
  private void awaitAnswer() {
    await("an answer from [" + getRouterUrl() + "]", () -> answerOrFailure("/status/health"), JsonNode::isBoolean);
  }

  private JsonNode answerOrFailure(String path) {
    try {
      return send("GET", path, null);
    } catch (UncheckedIOException e) {
      return TextNode.valueOf(String.valueOf(e.getCause()));
    }
  }

  private String textOf(String path) {
    return copyFileFromContainer(path, file -> new String(file.readAllBytes(), StandardCharsets.UTF_8));
  }

  private String submit(String name, Datasource data) {
    Map<String, Object> schema = Map.of(
        "dataSource", name,
        "timestampSpec", Map.of("column", data.timestampColumn, "format", "auto"),
        "dimensionsSpec", Map.of(),
        "granularitySpec", Map.of("segmentGranularity", "DAY", "queryGranularity", "NONE", "rollup", false));
    Map<String, Object> input = Map.of(
        "type", "index_parallel",
        "inputSource", Map.of("type", "inline", "data", data.csv),
        "inputFormat", Map.of("type", "csv", "findColumnsFromHeader", true));
    Map<String, Object> spec = Map.of("dataSchema", schema, "ioConfig", input);
    return send("POST", "/svc/indexer/v1/task", write(Map.of("type", "index_parallel", "spec", spec))).get("task").asText();
  }

  private void awaitTask(String id) {
    JsonNode status = await("task [" + id + "] to complete",
        () -> send("GET", "/svc/indexer/v1/task/" + encoded(id) + "/status", null).get("status"),
        found -> !found.get("statusCode").asText().equals("RUNNING"));
    if (!status.get("statusCode").asText().equals("SUCCESS"))
      throw new ContainerLaunchException("Task [" + id + "] failed: " + status.get("errorMsg").asText());
  }

  private void awaitLoaded() {
    List<String> names = List.copyOf(datasources.keySet());
    await("the datasources " + names + " to load",
        () -> send("GET", "/svc/coordinator/v1/loadstatus?forceMetadataRefresh=true", null),
        status -> names.stream().allMatch(name -> status.path(name).asDouble(100) == 100));
  }

  private interface Source {
    JsonNode read();
  }

  private JsonNode await(String what, Source source, Predicate<JsonNode> isReached) {
    long deadline = System.nanoTime() + LOAD_TIMEOUT.toNanos();
    while (true) {
      JsonNode value = source.read();
      if (isReached.test(value)) return value;
      if (System.nanoTime() > deadline)
        throw new ContainerLaunchException("Timed out waiting for " + what + ": " + value);
      sleep();
    }
  }

  private static void sleep() {
    try {
      Thread.sleep(POLL.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ContainerLaunchException("Interrupted", e);
    }
  }

  private JsonNode send(String method, String path, String json) {
    String credentials = getAdminUser() + ":" + adminPassword;
    HttpRequest request = HttpRequest.newBuilder(URI.create(getRouterUrl() + path))
        .header("Authorization", "Basic " + Base64.getEncoder().encodeToString(credentials.getBytes(StandardCharsets.UTF_8)))
        .header("Content-Type", "application/json")
        .method(method, json == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(json))
        .build();
    try {
      HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
      if (response.statusCode() >= 300)
        throw new ContainerLaunchException(method + " " + path + " returned " + response.statusCode() + ": " + response.body());
      return JSON.readTree(response.body());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ContainerLaunchException("Interrupted", e);
    }
  }

  private static String write(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String encoded(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private static SSLContext contextTrusting(String certificate) {
    try {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      store.setCertificateEntry("svc", CertificateFactory.getInstance("X.509")
          .generateCertificate(new ByteArrayInputStream(certificate.getBytes(StandardCharsets.UTF_8))));
      TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw new ContainerLaunchException("Failed to read the certificate of the cluster", e);
    }
  }
}
