using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// What nothing uses is deleted: every method and field of the libraries and the program is reached from an entry point or the public surface, or a test names it.
/// What only tests use is in the way of who reads the rest, so its number may only fall. Private members are the compiler's part (IDE0051, IDE0052).
/// </summary>
public sealed partial class UnusedCodeTests
{
    private const int OnlyTestsMax = 160;

    // What is put into a program, and whose entry points and public members are called from outside.
    private static readonly string[] Programs = ["RedKite.Host", "RedKite.Tool", "RedKite.Testing", "RedKite.Hosting", "RedKite.Bench", "RedKite.Traces", "RedKite.Dashboard", "RedKite.Cluster.Etcd"];

    [Fact]
    public void What_nothing_uses_is_deleted()
    {
        string[] folders = [.. Programs.Select(static program => Path.Combine(Repository.Root, "artifacts/bin", program, "release"))];
        var context = new ProgramContext(folders);
        Assembly[] assemblies = [.. folders.SelectMany(static folder => Directory.GetFiles(folder, "*.dll")).DistinctBy(Path.GetFileName).Where(IsOurs).Select(context.LoadFromAssemblyPath)];
        var reached = new ReachedCode(assemblies);
        foreach (MethodInfo entry in assemblies.Select(static assembly => assembly.EntryPoint).OfType<MethodInfo>()) reached.Add(entry);
        foreach (MemberInfo member in reached.Types.Where(static type => type.IsVisible).SelectMany(static type => type.GetMembers(ReachedCode.Members).Append(type)).Where(IsVisible)) reached.Add(member);

        MemberInfo[] unused = [.. UnusedOf(reached)];
        HashSet<string> words = [.. Repository.Files("tests", ".cs").Concat(Repository.Files("bench", ".cs")).SelectMany(static path => Word().Matches(Repository.Read(path)).Select(static match => match.Value))];
        foreach (MemberInfo member in unused.Where(member => words.Contains(WordOf(member)))) reached.Add(member);
        Repository.AssertNone(UnusedOf(reached).Select(static member => $"{member.DeclaringType?.FullName}.{member.Name}").Order(StringComparer.Ordinal));
        Assert.True(unused.Length <= OnlyTestsMax, $"{unused.Length} members that only tests use:\n{string.Join('\n', unused.Select(static member => $"{member.DeclaringType?.FullName}.{member.Name}"))}");
    }

    [Fact]
    public void Unused_members_are_found()
    {
        var reached = new ReachedCode([typeof(UnusedCodeTests).Assembly]);
        reached.Add(typeof(UnusedSample).GetMethod(nameof(UnusedSample.Begin), ReachedCode.Members)!);
        string[] found = [.. UnusedOf(reached).Where(static member => (member.DeclaringType ?? member) is Type { Name: nameof(UnusedSample) or nameof(UsedStep) or nameof(IUnusedSample) }).Select(static member => member.Name).Order(StringComparer.Ordinal)];
        Assert.Equal(["Ask", "Ask", "NotCalled", "_onlyWritten", "get_NotRead"], found);
    }

    private static IEnumerable<MemberInfo> UnusedOf(ReachedCode reached)
    {
        foreach (Type type in reached.Types)
        {
            if (IsGenerated(type)) continue;
            if (!reached.Contains(type) && type is not { IsAbstract: true, IsSealed: true }) // a static class is only its members
            {
                yield return type;
                continue;
            }

            bool isRecord = type.GetMethod("PrintMembers", ReachedCode.Members) is not null;
            foreach (MemberInfo member in type.GetMembers(ReachedCode.Members))
            {
                if (!reached.Contains(member) && IsCounted(type, member, isRecord)) yield return member;
            }
        }
    }

    // Constants are copied into those that use them; a table's rows are read as rows; a struct's fields may be a layout; a record's and a delegate's members are the compiler's.
    private static bool IsCounted(Type type, MemberInfo member, bool isRecord) => member switch
    {
        FieldInfo field => !field.IsLiteral && !field.IsInitOnly && (type.IsClass || type.IsByRefLike) && !IsNamedByCompiler(member),
        ConstructorInfo constructor => constructor.GetParameters().Length > 0 && !isRecord && !typeof(Delegate).IsAssignableFrom(type),
        MethodInfo method => !typeof(Delegate).IsAssignableFrom(type)
            && !method.Name.StartsWith('<')
            && !method.Name.StartsWith("remove_", StringComparison.Ordinal)
            && !(isRecord && (method.IsDefined(typeof(CompilerGeneratedAttribute)) || method.IsVirtual || method.IsSpecialName || method.Name == "PrintMembers"))
            && !method.CustomAttributes.Any(static attribute => attribute.AttributeType.Name is "GeneratedCodeAttribute" or "ModuleInitializerAttribute"),
        _ => false,
    };

    private static bool IsVisible(MemberInfo member) => member switch
    {
        Type => true,
        MethodBase method => method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly,
        FieldInfo field => field.IsPublic || field.IsFamily,
        _ => false,
    };

    private static bool IsNamedByCompiler(MemberInfo member) => member.Name.StartsWith('<') || member.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false);

    private static bool IsGenerated(Type type)
    {
        for (Type? outer = type; outer is not null; outer = outer.DeclaringType)
        {
            if (IsNamedByCompiler(outer) || outer.Namespace is "Microsoft.CodeAnalysis" or "System.Runtime.CompilerServices" || outer.Namespace?.StartsWith("System.Text", StringComparison.Ordinal) == true) return true;
            if (outer.CustomAttributes.Any(static attribute => attribute.AttributeType.Name == "GeneratedCodeAttribute")) return true;
        }

        return false;
    }

    private static bool IsOurs(string path) => Path.GetFileName(path) is var name && name.StartsWith("redkite", StringComparison.OrdinalIgnoreCase) && !name.Contains(".r2r.", StringComparison.Ordinal);

    private static string WordOf(MemberInfo member)
    {
        string name = member is ConstructorInfo ? member.DeclaringType!.Name : member.Name[(member.Name.LastIndexOf('.') + 1)..];
        if (name.StartsWith("get_", StringComparison.Ordinal) || name.StartsWith("set_", StringComparison.Ordinal) || name.StartsWith("add_", StringComparison.Ordinal)) name = name[4..];
        return name.Split('`')[0];
    }

    [GeneratedRegex(@"\w+")]
    private static partial Regex Word();

    // Beside the libraries that the tests are built with: a program is looked at as it was built.
    private sealed class ProgramContext(string[] folders) : AssemblyLoadContext("programs")
    {
        private readonly string _frameworks = Path.Combine(Path.GetDirectoryName(typeof(object).Assembly.Location)!, "..", "..");

        protected override Assembly? Load(AssemblyName assemblyName)
        {
            string[] hosts = Path.Combine(_frameworks, "Microsoft.AspNetCore.App") is var path && Directory.Exists(path) ? Directory.GetDirectories(path) : [];
            return folders.Concat(hosts).Select(folder => Path.Combine(folder, assemblyName.Name + ".dll")).FirstOrDefault(File.Exists) is { } found ? LoadFromAssemblyPath(found) : null;
        }
    }
}

// What the test's sample consists of.
internal interface IUnusedSample
{
    void Run();

    void Ask();
}

internal sealed class UnusedSample
{
    private int _onlyWritten;

    internal static int NotRead => 1;

    internal static int Read => 2;

    internal static void Begin(IUnusedSample step)
    {
        step.Run();
        new UnusedSample()._onlyWritten = Read;
    }

    internal static void NotCalled() => Begin(new UsedStep());
}

internal sealed class UsedStep : IUnusedSample
{
    public void Run() => GC.KeepAlive(this);

    public void Ask() => GC.KeepAlive(this);
}
