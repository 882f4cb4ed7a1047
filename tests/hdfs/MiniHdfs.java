import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * A NameNode and a DataNode in one process, on loopback, until its input ends.
 *
 * <p>Usage: java MiniHdfs.java FOLDER FILE; the file gets the NameNode's ports of RPC and of HTTP.
 */
public class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    conf.set("dfs.datanode.hostname", "127.0.0.1");
    conf.set("dfs.replication", "1");
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
}
