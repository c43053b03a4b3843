namespace RedKite.Differential.Tests.Cluster;

/// <summary>The transcripts of a cluster's nodes, compared with Redis 8.0.2.</summary>
public sealed class ClusterTranscriptTests(ClusterServers servers) : ClusterTranscripts(servers), IClassFixture<ClusterServers>;

/// <summary>The same, compared with Redis 8.6.</summary>
public sealed class ClusterTranscriptsOfRedis86Tests(ClusterServersOfRedis86 servers) : ClusterTranscripts(servers), IClassFixture<ClusterServersOfRedis86>;

/// <summary>The same, compared with Valkey 9.1.</summary>
public sealed class ClusterTranscriptsOfValkey9Tests(ClusterServersOfValkey9 servers) : ClusterTranscripts(servers), IClassFixture<ClusterServersOfValkey9>;
