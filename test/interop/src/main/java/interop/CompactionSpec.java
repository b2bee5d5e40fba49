package interop;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;
import org.apache.druid.indexing.overlord.supervisor.Supervisor;
import org.apache.druid.indexing.overlord.supervisor.SupervisorSpec;

/** A compaction supervisor as sent by a client; the class that runs one is in another module. */
final class CompactionSpec implements SupervisorSpec {
  static final String TYPE = "autocompact";

  private final Map<String, Object> spec;
  private final boolean suspended;

  @JsonCreator
  CompactionSpec(@JsonProperty("spec") Map<String, Object> spec, @JsonProperty("suspended") boolean suspended) {
    this.spec = spec;
    this.suspended = suspended;
  }

  @JsonProperty
  Map<String, Object> getSpec() {
    return spec;
  }

  @Override
  @JsonProperty
  public boolean isSuspended() {
    return suspended;
  }

  @Override
  @JsonIgnore
  public String getId() {
    return TYPE + "__" + spec.get("dataSource");
  }

  @Override
  @JsonIgnore
  public List<String> getDataSources() {
    return List.of((String) spec.get("dataSource"));
  }

  @Override
  @JsonIgnore
  public String getType() {
    return TYPE;
  }

  @Override
  @JsonIgnore
  public String getSource() {
    return "";
  }

  @Override
  public Supervisor createSupervisor() {
    throw new UnsupportedOperationException("This is only serialized");
  }
}
