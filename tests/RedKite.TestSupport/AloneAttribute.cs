using Xunit.v3;

namespace RedKite.TestSupport;

/// <summary>
/// Marks a test of durations, which needs the machine to itself. <c>./dev test --long</c> runs such tests last, one suite after the other.
/// The gate excludes them: a busy machine must not fail it.
/// </summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method)]
public sealed class AloneAttribute : Attribute, ITraitAttribute
{
    public IReadOnlyCollection<KeyValuePair<string, string>> GetTraits() => [new("run", "alone")];
}
