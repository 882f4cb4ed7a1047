import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.server.namenode.AuditLogger;

/**
 * A NameNode and a DataNode in one process, on loopback, until its input ends.
 *
 * <p>Usage: java MiniHdfs FOLDER PORTS RULE; the file PORTS gets the NameNode's ports of RPC and of HTTP. The file RULE
 * may be made at any time. It has these lines, and is removed when it has been followed:
 *
 * <pre>
 *   pattern     nothing happens before something was renamed to such a name
 *   operation   create, rename
 *   pattern     of the name that is created, or renamed to
 *   words       one in each line, of the program that is run before the operation is answered
 * </pre>
 */
public class MiniHdfs {
  private static Path rule;

  public static void main(String[] arguments) throws Exception {
    rule = Path.of(arguments[2]);
    Configuration conf = new Configuration();
    conf.set("dfs.datanode.hostname", "127.0.0.1");
    conf.set("dfs.replication", "1");
    conf.set("dfs.namenode.audit.loggers", Follower.class.getName());
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(conf, new File(arguments[0])).numDataNodes(1).build();
    cluster.waitActive();
    int http = cluster.getNameNode().getHttpAddress().getPort();
    Path file = Path.of(arguments[1]);
    Path part = Path.of(arguments[1] + ".part");
    Files.writeString(part, cluster.getNameNodePort() + " " + http);
    Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    while (System.in.read() >= 0) {}
    cluster.shutdown();
    System.exit(0);
  }

  /** Follows the rule: the NameNode calls it after an operation, and before it answers. */
  public static class Follower implements AuditLogger {
    private String rulesTurn = "";

    @Override
    public void initialize(Configuration conf) {}

    @Override
    public void logAuditEvent(
        boolean isDone,
        String user,
        InetAddress address,
        String operation,
        String source,
        String target,
        FileStatus status) {
      if (!isDone || !Files.exists(rule)) {
        return;
      }
      try {
        follow(operation, target == null ? source : target);
      } catch (NoSuchFileException gone) {
        return; // another thread has followed it
      } catch (IOException | InterruptedException error) {
        error.printStackTrace();
      }
    }

    private void follow(String operation, String name) throws IOException, InterruptedException {
      List<String> lines = Files.readAllLines(rule);
      if (operation.startsWith("rename") && name.matches(lines.get(0))) {
        rulesTurn = lines.get(0);
      }
      if (!rulesTurn.equals(lines.get(0))
          || !operation.startsWith(lines.get(1))
          || !name.matches(lines.get(2))) {
        return;
      }
      Files.delete(rule);
      rulesTurn = "";
      List<String> words = lines.subList(3, lines.size());
      new ProcessBuilder(words).inheritIO().start().waitFor();
    }
  }
}
