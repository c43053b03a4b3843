using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using System.Xml.Linq;
using RedKite.TestSupport;

namespace RedKite.Hosting.Tests;

/// <summary>
/// The public members of each package are those of its file in PublicSurface, one line each. A public member is a promise to those who use the
/// package: it is added on purpose, and it has documentation. Run with REDKITE_WRITE_DOCS=1 to write the files.
/// </summary>
public partial class PublicSurfaceTests
{
    private static readonly string Folder = Path.Combine(RepositoryRoot.Path, "tests", "RedKite.Hosting.Tests", "PublicSurface");

    /// <summary>The assemblies of each package that has any for its users.</summary>
    private static readonly Dictionary<string, string[]> Packages = new()
    {
        ["RedKite"] = ["RedKite.Administration", "RedKite.Client", "RedKite.Cluster", "RedKite.Commands", "RedKite.Core", "RedKite.Diagnostics", "RedKite.Durability", "RedKite.Execution", "RedKite.Json", "RedKite.Net", "RedKite.Persistence", "RedKite.Protocol", "RedKite.Replication", "RedKite.Scripting", "RedKite.Server", "RedKite.Sketches", "RedKite.Store", "RedKite.TimeSeries"],
        ["RedKite.Aspire.Hosting"] = ["RedKite.Aspire.Hosting"],
        ["RedKite.Hosting"] = ["RedKite.Dashboard", "RedKite.Hosting"],
        ["RedKite.Testing"] = ["RedKite.Testing"],
    };

    public static TheoryData<string> Names => [.. Packages.Keys];

    [Theory]
    [MemberData(nameof(Names))]
    public void Members_are_those_of_the_file(string package)
    {
        string[] found = [.. Packages[package].SelectMany(name => Assembly.Load(name).GetExportedTypes()).SelectMany(LinesOf).Order(StringComparer.Ordinal)];
        string file = Path.Combine(Folder, package + ".txt");
        if (Environment.GetEnvironmentVariable("REDKITE_WRITE_DOCS") == "1") File.WriteAllLines(file, found);
        Assert.Equal(File.ReadAllLines(file), found);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void Every_member_has_documentation(string package)
    {
        var without = new List<string>();
        foreach (string file in Packages[package])
        {
            Assembly assembly = Assembly.Load(file);
            HashSet<string> documented = [.. XDocument.Load(Path.ChangeExtension(assembly.Location, ".xml")).Descendants("member").Select(member => (string)member.Attribute("name")!)];
            foreach (Type type in assembly.GetExportedTypes())
            {
                string name = type.FullName!.Replace('+', '.');
                if (!documented.Contains("T:" + name)) without.Add(name);
                bool isRecord = type.GetMethod("<Clone>$") is not null || type.GetMethod("PrintMembers", BindingFlags.Instance | BindingFlags.NonPublic) is not null;
                if (isRecord || type.IsEnum) continue; // a record's members are documented as parameters; an enum's words may speak for themselves
                foreach (MemberInfo member in MembersOf(type))
                {
                    if (member is ConstructorInfo constructor && constructor.GetParameters().Length == 0) continue;
                    if (member is MethodInfo method && method.GetBaseDefinition() != method) continue;
                    if (member.Name is "GetEnumerator" or "MoveNext" or "Current") continue; // what foreach needs
                    // Methods have their parameters behind the name.
                    string key = $"{(member is PropertyInfo ? 'P' : member is FieldInfo ? 'F' : member is EventInfo ? 'E' : 'M')}:{name}.{(member is ConstructorInfo ? "#ctor" : member.Name)}";
                    if (!documented.Any(item => item.StartsWith(key, StringComparison.Ordinal) && (item.Length == key.Length || item[key.Length] is '(' or '`'))) without.Add(key);
                }
            }
        }

        Assert.True(without.Count == 0, string.Join('\n', without));
    }

    [Fact]
    public void No_package_shows_its_internals_to_other_repositories()
    {
        string[] projects = [.. Directory.EnumerateFiles(RepositoryRoot.Path, "*.csproj", SearchOption.AllDirectories).Where(path => !path.Contains("artifacts", StringComparison.Ordinal) && !path.Contains("node_modules", StringComparison.Ordinal))];
        HashSet<string> own = [.. projects.Select(path => Path.GetFileNameWithoutExtension(path)), "redkite"];
        string[] friends = [.. projects.SelectMany(path => Friend().Matches(File.ReadAllText(path)).Select(match => match.Groups[1].Value))];
        Assert.NotEmpty(friends);
        Assert.Empty(friends.Except(own));
        string[] inCode = [.. Directory.EnumerateFiles(Path.Combine(RepositoryRoot.Path, "src"), "*.cs", SearchOption.AllDirectories).Where(path => File.ReadAllText(path).Contains("InternalsVisibleTo", StringComparison.Ordinal))];
        Assert.Empty(inCode);
    }

    [Fact]
    public void Members_are_written_as_one_reads_them() => Assert.Equal(
        [
            "PublicSurfaceSample",
            "PublicSurfaceSample.Changed: event EventHandler",
            "PublicSurfaceSample.Constant: const Int32 = 7",
            "PublicSurfaceSample.Find<T>(String name, T? other = null): IReadOnlyList<T>",
            "PublicSurfaceSample.Port: Int32? { get; set; }",
            "PublicSurfaceSample.PublicSurfaceSample(Int32 port)",
            "PublicSurfaceSample.Run(): static Task",
            "PublicSurfaceSample.this[String]: String { get; }",
        ],
        LinesOf(typeof(PublicSurfaceSample)).Select(line => line.Replace("RedKite.Hosting.Tests.", "", StringComparison.Ordinal).Replace("sealed class ", "", StringComparison.Ordinal)).Order(StringComparer.Ordinal));

    private static IEnumerable<string> LinesOf(Type type)
    {
        string name = type.FullName!.Replace('+', '.');
        string kind = type.IsEnum ? "enum" : type.IsInterface ? "interface" : typeof(Delegate).IsAssignableFrom(type) ? "delegate" : type.IsValueType ? "struct" : type is { IsAbstract: true, IsSealed: true } ? "static class" : type.IsAbstract ? "abstract class" : type.IsSealed ? "sealed class" : "class";
        yield return $"{kind} {name}";
        foreach (MemberInfo member in MembersOf(type)) yield return $"{kind} {name}.{TextOf(member)}";
    }

    private static IEnumerable<MemberInfo> MembersOf(Type type) => type
        .GetMembers(BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly)
        .Where(member => member switch
        {
            MethodInfo method => IsVisible(method) && !method.IsSpecialName && method.GetCustomAttribute<CompilerGeneratedAttribute>() is null && !method.Name.Contains('<', StringComparison.Ordinal),
            ConstructorInfo constructor => IsVisible(constructor),
            PropertyInfo property => property.GetAccessors(nonPublic: true).Any(IsVisible) && property.Name != "EqualityContract",
            FieldInfo field => (field.IsPublic || field.IsFamily) && !field.IsSpecialName,
            EventInfo item => IsVisible(item.AddMethod!),
            _ => false,
        });

    private static bool IsVisible(MethodBase? method) => method is { IsPublic: true } or { IsFamily: true } or { IsFamilyOrAssembly: true };

    private static string TextOf(MemberInfo member) => member switch
    {
        ConstructorInfo constructor => $"{NameOf(constructor.DeclaringType!)}({Parameters(constructor)})",
        MethodInfo method => $"{method.Name}{(method.IsGenericMethod ? $"<{string.Join(", ", method.GetGenericArguments().Select(NameOf))}>" : "")}({Parameters(method)}): {(method.IsStatic ? "static " : "")}{TypeOf(method.ReturnParameter)}",
        PropertyInfo property => $"{(property.GetIndexParameters() is { Length: > 0 } indexes ? $"this[{string.Join(", ", indexes.Select(index => NameOf(index.ParameterType)))}]" : property.Name)}: {(property.GetAccessors(nonPublic: true)[0].IsStatic ? "static " : "")}{Nullable(NameOf(property.PropertyType), new NullabilityInfoContext().Create(property).ReadState)} {{ {(IsVisible(property.GetMethod) ? "get; " : "")}{(IsVisible(property.SetMethod) ? "set; " : "")}}}",
        FieldInfo field => field.IsLiteral ? $"{field.Name}: const {NameOf(field.FieldType)} = {(field.FieldType.IsEnum ? Convert.ToInt64(field.GetRawConstantValue(), System.Globalization.CultureInfo.InvariantCulture) : field.GetRawConstantValue())}" : $"{field.Name}: {NameOf(field.FieldType)}",
        EventInfo item => $"{item.Name}: event {NameOf(item.EventHandlerType!)}",
        _ => member.Name,
    };

    private static string Parameters(MethodBase method) => string.Join(", ", method.GetParameters().Select(parameter =>
        $"{(parameter.IsDefined(typeof(ParamArrayAttribute)) || parameter.IsDefined(typeof(ParamCollectionAttribute)) ? "params " : "")}{TypeOf(parameter)} {parameter.Name}{(parameter.HasDefaultValue ? $" = {parameter.DefaultValue ?? "null"}" : "")}"));

    private static string TypeOf(ParameterInfo parameter) => Nullable((parameter.IsOut ? "out " : parameter.IsIn ? "in " : parameter.ParameterType.IsByRef ? "ref " : "") + NameOf(parameter.ParameterType), new NullabilityInfoContext().Create(parameter).ReadState);

    private static string Nullable(string name, NullabilityState state) => state == NullabilityState.Nullable && !name.EndsWith('?') ? name + "?" : name;

    private static string NameOf(Type type)
    {
        if (type.IsByRef) return NameOf(type.GetElementType()!);
        if (type.IsArray) return NameOf(type.GetElementType()!) + "[]";
        if (System.Nullable.GetUnderlyingType(type) is { } underlying) return NameOf(underlying) + "?";
        string name = type.Name.Split('`')[0];
        return type.IsGenericType ? $"{name}<{string.Join(", ", type.GetGenericArguments().Select(NameOf))}>" : name;
    }

    [GeneratedRegex("InternalsVisibleTo Include=\"([^\"]+)\"")]
    private static partial Regex Friend();
}
