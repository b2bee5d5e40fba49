package org.apache.druid.msq.guice;

import com.google.inject.Binder;
import org.apache.druid.initialization.DruidModule;

/** An empty module in place of one in an artifact that registries lack; the coordinator and overlord only name it. */
public class MSQIndexingModule implements DruidModule {
  @Override
  public void configure(Binder binder) {}
}
