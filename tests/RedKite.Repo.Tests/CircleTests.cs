using System.Reflection;
using System.Runtime.CompilerServices;

namespace RedKite.Repo.Tests;

/// <summary>
/// Which types know which, by their fields and the parameters of their constructors. Arguments point downwards; upwards go an interface of what is asked, or a returned
/// value. Types that know each other in a circle can only be read, tested and changed together. A nested type is a part of the one around it.
/// </summary>
public class CircleTests
{
    private const BindingFlags Members = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

    internal static readonly string[] Assemblies = ["redkite", "RedKite.Administration", "RedKite.Aspire.Hosting", "RedKite.Bench", "RedKite.Client", "RedKite.Cluster", "RedKite.Cluster.Etcd", "RedKite.Commands", "RedKite.Core", "RedKite.Dashboard", "RedKite.Diagnostics", "RedKite.Durability", "RedKite.Execution", "RedKite.Hosting", "RedKite.Json", "RedKite.Net", "RedKite.Persistence", "RedKite.Protocol", "RedKite.Replication", "RedKite.Scripting", "RedKite.Server", "RedKite.Sketches", "RedKite.Store", "RedKite.Testing", "RedKite.TimeSeries", "RedKite.Traces"];

    // What is left: each line the types of one circle. The list may only become shorter.
    private static readonly string[] Left =
    [
        "AwaitedKey BlockedClient ClientSubscriptions ClientTracking Session Subscription",
        "Culprits DiagnosticsService DiagnosticsView DurabilityReader Finding FindingRule FindingTracker KeySurvey LiveReports ObservationReader PackageService PackageSources ServerParts",
        "ArrivalWatch ByteLayer Connection EventLoop",
        "LogAppender LogChain",
        "Arena DividedSlabs RunSlabs SlabSource",
        "Database EntryCopy Keyspace ScriptMutex Stripe",
    ];

    // Those that once knew each other, and do not any more.
    private static readonly string[] Open = ["CommandExecutor", "Invoker", "RunMeter", "CommandAccount", "Admission", "Evictor", "BlockedClientServer", "NestedExecutor", "BackgroundSnapshot", "StripeBarrier", "SlicedValue", "ReplicaService", "ReplicaClient", "FullSynchronization", "Failover", "DurabilityService", "DurabilityEvents", "LogKeeper", "LogTotals", "SaveHistory", "AppendOnlyLog", "LuaInterpreter", "ReplyToLua", "ScriptOutput", "VectorSearch", "RedKiteFaults", "AsyncWaits", "CallerPool", "SubscriptionRegistry", "WatchedKey", "CommandFamily", "TlsServer", "TlsWire", "ClusterService", "ClusterAgreement", "AgreedNode", "ClusterWatch"];

    [Fact]
    public void No_types_know_each_other_in_a_circle()
    {
        Type[][] assemblies = [.. Assemblies.Select(static name => Assembly.Load(name).GetTypes())];
        string[] found = [.. assemblies.SelectMany(CirclesIn)];
        Repository.AssertNone(found.Except(Left).Select(static circle => $"a circle: {circle}").Concat(Left.Except(found).Select(static circle => $"no circle any more, so out of the list: {circle}")));
        Assert.Empty(Open.Except(assemblies.SelectMany(static types => types).Select(static type => type.Name)));
        Assert.Empty(Open.Intersect(found.SelectMany(static circle => circle.Split(' '))));
    }

    // The program's sources are those of the tool.
    [Fact]
    public void Every_project_is_read() =>
        Assert.Equal(Repository.Files("src", ".csproj").Select(static path => Path.GetFileNameWithoutExtension(path)).Except(["RedKite.Host", "RedKite.Tool"]).Append("redkite").Order(StringComparer.Ordinal), Assemblies.Order(StringComparer.Ordinal));

    [Theory]
    [InlineData("CircleLoop CircleStep", typeof(CircleStep), typeof(CircleLoop), typeof(CircleBelow))]
    [InlineData("", typeof(CircleStep), typeof(CircleBelow))]
    [InlineData("CircleFed CircleFeeder", typeof(CircleFed), typeof(CircleFeeder))] // by a list, and by a parameter alone
    [InlineData("", typeof(CircleAsked), typeof(CircleAsking))] // by an interface
    public void Circles_are_found(string circles, params Type[] types) => Assert.Equal(circles, string.Join(", ", CirclesIn(types)));

    private static IEnumerable<string> CirclesIn(Type[] types)
    {
        Dictionary<Type, HashSet<Type>> known = [];
        foreach (Type type in types)
        {
            if (type.IsEnum || IsGenerated(Outermost(type))) continue;
            Type owner = Outermost(type);
            if (!known.TryGetValue(owner, out HashSet<Type>? others)) known[owner] = others = [];
            if (IsGenerated(type)) continue; // closures and state machines
            foreach (FieldInfo field in type.GetFields(Members)) Add(others, owner, field.FieldType);
            foreach (ConstructorInfo constructor in type.GetConstructors(Members))
            {
                foreach (ParameterInfo parameter in constructor.GetParameters()) Add(others, owner, parameter.ParameterType);
            }
        }

        return Circles(known).Select(circle => string.Join(' ', circle.Select(type => type.Name).Order(StringComparer.Ordinal))).Order(StringComparer.Ordinal);
    }

    private static void Add(HashSet<Type> others, Type owner, Type type)
    {
        if (type.HasElementType)
        {
            Add(others, owner, type.GetElementType()!);
            return;
        }

        if (type.IsGenericParameter) return;
        foreach (Type argument in type.GetGenericArguments()) Add(others, owner, argument);
        Type other = Outermost(type.IsGenericType ? type.GetGenericTypeDefinition() : type);
        if (other != owner && other.Assembly == owner.Assembly) others.Add(other);
    }

    private static IEnumerable<List<Type>> Circles(Dictionary<Type, HashSet<Type>> known)
    {
        Dictionary<Type, HashSet<Type>> reached = known.Keys.ToDictionary(type => type, type => ReachedFrom(known, type));
        HashSet<Type> told = [];
        foreach (Type type in known.Keys)
        {
            if (!reached[type].Contains(type) || told.Contains(type)) continue;
            List<Type> circle = [.. reached[type].Where(other => reached.TryGetValue(other, out HashSet<Type>? back) && back.Contains(type))];
            told.UnionWith(circle);
            yield return circle;
        }
    }

    private static HashSet<Type> ReachedFrom(Dictionary<Type, HashSet<Type>> known, Type start)
    {
        HashSet<Type> reached = [];
        Stack<Type> left = new([start]);
        while (left.TryPop(out Type? type))
        {
            if (!known.TryGetValue(type, out HashSet<Type>? others)) continue;
            foreach (Type other in others)
            {
                if (reached.Add(other)) left.Push(other);
            }
        }

        return reached;
    }

    private static Type Outermost(Type type)
    {
        while (type.DeclaringType is { } outer) type = outer;
        return type;
    }

    private static bool IsGenerated(Type type) => type.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false);
}

// What the test's samples consist of.
internal sealed class CircleBelow;

internal sealed class CircleStep(CircleLoop loop)
{
    internal CircleLoop Loop { get; } = loop;
}

internal sealed class CircleLoop
{
    internal CircleStep[] Steps { get; } = [];

    internal CircleBelow? Below { get; }
}

internal sealed class CircleFeeder
{
    internal List<CircleFed> Fed { get; } = [];
}

internal sealed class CircleFed
{
    internal CircleFed(CircleFeeder feeder) => feeder.Fed.Add(this);
}

internal interface ICircleAsked;

internal sealed class CircleAsked(CircleAsking asking) : ICircleAsked
{
    internal CircleAsking Asking { get; } = asking;
}

internal sealed class CircleAsking(ICircleAsked asked)
{
    internal ICircleAsked Asked { get; } = asked;
}
