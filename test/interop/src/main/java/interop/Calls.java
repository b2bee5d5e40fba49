package interop;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The calls of one client: their results, the skipped methods with reasons, and the forgotten methods. */
final class Calls {
  /** A call that throws if the answer is not the expected one. */
  interface Call {
    void run() throws Exception;
  }

  private final Class<?> client;
  private final Map<String, String> notCovered = new LinkedHashMap<>();
  private final TreeSet<String> called = new TreeSet<>();
  private int passed;
  private int failed;

  Calls(Class<?> client) {
    this.client = client;
  }

  /** Makes a call and prints its result; {@code method} is the name of the method and its parameter types. */
  void call(String method, Call call) {
    called.add(method);
    try {
      call.run();
      passed++;
      System.out.printf("passed %s.%s%n", client.getSimpleName(), method);
    } catch (Exception | AssertionError error) {
      failed++;
      Throwable cause = error;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      System.out.printf("failed %s.%s: %s%n", client.getSimpleName(), method, cause);
    }
  }

  /** Skips a method, with the reason. */
  void leaveOut(String method, String reason) {
    notCovered.put(method, reason);
  }

  /** Prints the skipped methods, and returns whether all calls passed and no method was forgotten. */
  boolean conclude() {
    notCovered.forEach(
        (method, reason) -> System.out.printf("skipped %s.%s: %s%n", client.getSimpleName(), method, reason));
    TreeSet<String> forgotten = new TreeSet<>();
    TreeSet<String> known = new TreeSet<>();
    for (Method method : client.getMethods()) {
      String name = nameOf(method);
      known.add(name);
      if (!called.contains(name) && !notCovered.containsKey(name)) {
        forgotten.add(name);
      }
    }
    for (String name : called) {
      if (!known.contains(name)) {
        forgotten.add(name + " (no such method)");
      }
    }
    forgotten.forEach(name -> System.out.printf("failed %s.%s: not called%n", client.getSimpleName(), name));
    failed += forgotten.size();
    System.out.printf(
        "%s: %d passed, %d failed, %d skipped%n", client.getSimpleName(), passed, failed, notCovered.size());
    return failed == 0;
  }

  private static String nameOf(Method method) {
    return method.getName()
        + Arrays.stream(method.getParameterTypes()).map(Class::getSimpleName).collect(Collectors.joining(",", "(", ")"));
  }

  /** Throws if the two differ. */
  static void same(Object expected, Object found) {
    if (!expected.equals(found)) {
      throw new AssertionError("expected [" + expected + "], found [" + found + "]");
    }
  }

  /** Throws with {@code found} if a condition is false. */
  static void holds(boolean condition, Object found) {
    if (!condition) {
      throw new AssertionError("found [" + found + "]");
    }
  }
}
