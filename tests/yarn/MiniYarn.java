import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * A ResourceManager and two NodeManagers in one process, until its input ends.
 *
 * <p>Usage: java MiniYarn.java FILE; the file gets its settings when all nodes are there.
 */
public class MiniYarn {
  private static final int NODES = 2;

  public static void main(String[] arguments) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
    conf.set("yarn.scheduler.minimum-allocation-mb", "128");
    conf.set("yarn.nodemanager.vmem-check-enabled", "false");
    conf.set("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "99");
    MiniYARNCluster cluster = new MiniYARNCluster("yarn", NODES, 1, 1);
    cluster.init(conf);
    cluster.start();
    try (OutputStream out = new FileOutputStream(arguments[0])) {
      cluster.getConfig().writeXml(out);
    }
    while (System.in.read() >= 0) {}
    cluster.stop();
    System.exit(0);
  }
}
