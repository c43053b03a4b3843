using System.Reflection;

namespace RedKite.Repo.Tests;

/// <summary>
/// Methods and constructors have at most seven parameters. More are a group that has no name yet. Records are excepted: they are such groups.
/// </summary>
public class ParameterTests
{
    private const int ParametersMax = 7;
    private const BindingFlags Members = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

    // Rows of a table: each column is a parameter.
    private static readonly string[] Rows = ["Setting.Integer", "Setting.Memory", "Setting.Choice", "Setting.Special"];

    [Fact]
    public void Methods_have_few_parameters()
    {
        string[] found = [.. CircleTests.Assemblies.SelectMany(static name => LongIn(Assembly.Load(name).GetTypes())).Except(Rows).Order(StringComparer.Ordinal)];
        Repository.AssertNone(found.Select(static method => $"more than {ParametersMax} parameters: {method}"));
    }

    [Fact]
    public void Long_lists_are_found() => Assert.Equal([".ctor", "Long"], LongIn([typeof(Sample), typeof(SampleRecord)]).Select(static name => name[(name.IndexOf('.', StringComparison.Ordinal) + 1)..]).Order(StringComparer.Ordinal));

    private static IEnumerable<string> LongIn(Type[] types) =>
        from type in types
        where !IsRecord(type) && !type.Name.StartsWith('<') && !typeof(Delegate).IsAssignableFrom(type)
        from method in type.GetMembers(Members).OfType<MethodBase>()
        where method.GetParameters().Length > ParametersMax && !method.Name.StartsWith('<')
        select $"{type.Name}.{method.Name}";

    // The compiler gives only records this method.
    private static bool IsRecord(Type type) => type.GetMethod("PrintMembers", Members) is not null;

    private sealed class Sample
    {
        private readonly int _sum;

        internal Sample(int a, int b, int c, int d, int e, int f, int g, int h) => _sum = Long(a, b, c, d, e, f, g, h);

        private static int Long(int a, int b, int c, int d, int e, int f, int g, int h) => a + b + c + d + e + f + g + h + Few(a, b, c, d, e, f, g);

        private static int Few(int a, int b, int c, int d, int e, int f, int g) => a + b + c + d + e + f + g;

        public override string ToString() => $"{_sum}";
    }

    private sealed record SampleRecord(int A, int B, int C, int D, int E, int F, int G, int H);
}
