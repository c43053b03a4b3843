using Xunit.v3;

namespace RedKite.TestSupport;

/// <summary>
/// Marks a test, or a class of tests, that only <c>./dev test --long</c> runs: one that measures wall time, provokes races under load, uses
/// fresh seeds, or takes more than some seconds. The gate (<c>./dev test</c>) excludes the trait; a test program that is started by hand runs both.
/// </summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method)]
public sealed class LongAttribute : Attribute, ITraitAttribute
{
    public IReadOnlyCollection<KeyValuePair<string, string>> GetTraits() => [new("run", "long")];
}
